// Package deploy holds no program: its folders are what one runs Ledgerhook
// with, and its tests try them.
package deploy
