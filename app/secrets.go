package app

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ledgerhook/signer"
)

const (
	masterKeyFile = "master-key"
	tokenFile     = "internal-token"
)

// openSecrets takes the master key and the token from the configuration, or
// from the data directory, where they are made when they are missing. The
// master key must be the one that the ledger was encrypted with.
func (a *App) openSecrets(ctx context.Context) error {
	masterKey := a.config.MasterKey
	if masterKey == nil {
		text, err := keptSecret(a.config.DataDir, masterKeyFile, newMasterKey)
		if err != nil {
			return err
		}
		if masterKey, err = signer.ParseMasterKey(text); err != nil {
			return fmt.Errorf("read %s: %w", filepath.Join(a.config.DataDir, masterKeyFile), err)
		}
	}
	box, err := signer.NewBox(masterKey)
	if err != nil {
		return err
	}
	a.box = box
	if err := a.ledger.CheckMasterKey(ctx, box); err != nil {
		return err
	}
	a.token = a.config.Token
	if a.token == "" {
		a.token, err = keptSecret(a.config.DataDir, tokenFile, rand.Text)
	}
	return err
}

func newMasterKey() string {
	key := make([]byte, signer.MasterKeySize)
	_, _ = rand.Read(key) // never fails
	return base64.StdEncoding.EncodeToString(key)
}

// keptSecret reads a secret from a file of the data directory, or makes it. It
// is written whole or not at all.
func keptSecret(dir, name string, generate func() string) (string, error) {
	path := filepath.Join(dir, name)
	text, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(text)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the secret: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the data directory: %w", err)
	}
	secret := generate()
	draft := path + ".new"
	if err := os.WriteFile(draft, []byte(secret+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write the secret: %w", err)
	}
	// Whoever is first makes the secret; a second process takes the first's.
	err = os.Link(draft, path)
	_ = os.Remove(draft)
	if errors.Is(err, fs.ErrExist) {
		return keptSecret(dir, name, generate)
	}
	if err != nil {
		return "", fmt.Errorf("keep the secret: %w", err)
	}
	return secret, nil
}
