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

	"ledgerhook/config"
	"ledgerhook/signer"
)

const (
	masterKeyFile = "master-key"
	tokenFile     = "internal-token"
)

// openSecrets takes the master key and the token from the configuration, or
// from the data directory, where they are made when they are missing. The
// master key must be the one that the ledger was encrypted with.
func (a *App) openSecrets(ctx context.Context) (err error) {
	if a.box, a.token, err = readSecrets(a.config, keptSecret); err != nil {
		return err
	}
	return a.ledger.KeepMasterKey(ctx, a.box)
}

// secretSource finds a secret of the data directory, or generates it.
type secretSource func(dir, name string, generate func() string) (string, error)

// readSecrets takes what the configuration does not say from the data directory.
func readSecrets(cfg config.Config, find secretSource) (box *signer.Box, token string, err error) {
	masterKey := cfg.MasterKey
	if masterKey == nil {
		text, err := find(cfg.DataDir, masterKeyFile, newMasterKey)
		if err != nil {
			return nil, "", err
		}
		if masterKey, err = signer.ParseMasterKey(text); err != nil {
			return nil, "", fmt.Errorf("read %s: %w", filepath.Join(cfg.DataDir, masterKeyFile), err)
		}
	}
	if box, err = signer.NewBox(masterKey); err != nil {
		return nil, "", err
	}
	if token = cfg.Token; token == "" {
		token, err = find(cfg.DataDir, tokenFile, rand.Text)
	}
	return box, token, err
}

func newMasterKey() string {
	key := make([]byte, signer.MasterKeySize)
	_, _ = rand.Read(key) // never fails
	return base64.StdEncoding.EncodeToString(key)
}

// shownSecret is a secretSource that keeps nothing: what it generates is gone
// with the caller.
func shownSecret(dir, name string, generate func() string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return generate(), nil
	}
	if err != nil {
		return "", fmt.Errorf("read the secret: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// keptSecret is a secretSource that keeps what it generates. The ledger holds
// the data directory for this process, so nobody else makes one meanwhile.
func keptSecret(dir, name string, generate func() string) (string, error) {
	made := ""
	secret, err := shownSecret(dir, name, func() string { made = generate(); return made })
	if err == nil && made != "" {
		err = keepSecret(dir, name, made)
	}
	return secret, err
}

// keepSecret writes a secret whole or not at all. It is on the disk before
// anything is: what is encrypted under a master key is lost without it.
func keepSecret(dir, name, secret string) error {
	path := filepath.Join(dir, name)
	draft := path + ".new"
	file, err := os.OpenFile(draft, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the secret: %w", err)
	}
	_, err = file.WriteString(secret + "\n")
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("write the secret: %w", err)
	}
	if err := os.Rename(draft, path); err != nil {
		return fmt.Errorf("keep the secret: %w", err)
	}
	folder, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("keep the secret: %w", err)
	}
	if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
		return fmt.Errorf("keep the secret: %w", err)
	}
	return nil
}
