// Package interfacetest plays a partner against the real program.
//
// Its tests run the binary, keep to the interface document alone, and leave
// all of the partner's cryptography to the openssl command, so that nothing of
// ours can agree with itself.
package interfacetest
