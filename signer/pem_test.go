package signer

import "testing"

func TestAByteOrderMarkBeforeAKeyIsPassedOver(t *testing.T) {
	t.Parallel()
	key, err := GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParsePrivateKey(append([]byte("\uFEFF"), key.PrivatePEM()...)); err != nil {
		t.Errorf("private: %v", err)
	}
	if _, err := ParsePublicKey(append([]byte("\uFEFF"), key.PublicPEM()...)); err != nil {
		t.Errorf("public: %v", err)
	}
}
