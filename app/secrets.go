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
	"ledgerhook/ledger/database"
	"ledgerhook/signer"
)

const (
	masterKeyFile = "master-key"
	tokenFile     = "internal-token"
)

// openSecrets takes the master key and the token from the configuration, or
// from the data directory, where they are made when they are missing. The
// master key must be the one that the ledger was encrypted with, or nothing is
// made.
func (a *App) openSecrets(ctx context.Context) error {
	key, err := findMasterKey(a.config)
	if err != nil {
		return err
	}
	kept, err := key.check(ctx, a.db)
	if err != nil {
		return err
	}
	if key.made != "" {
		if err := keepSecret(a.config.DataDir, masterKeyFile, key.made); err != nil {
			return err
		}
	}
	if !kept {
		if err := a.db.KeepMasterKey(ctx, key.box); err != nil {
			return err
		}
	}
	a.box = key.box
	if a.token = a.config.Token; a.token == "" {
		a.token, err = keptSecret(a.config.DataDir, tokenFile, newToken)
	}
	return err
}

// masterKey is a master key and where it is from.
type masterKey struct {
	box  *signer.Box
	file string // "": the configuration says it
	made string // what the file is to hold if it is missing
}

// findMasterKey takes the master key from the configuration or from the data
// directory, or generates one that nobody keeps yet.
func findMasterKey(cfg config.Config) (found masterKey, err error) {
	key := cfg.MasterKey
	if key == nil {
		found.file = filepath.Join(cfg.DataDir, masterKeyFile)
		text, err := shownSecret(cfg.DataDir, masterKeyFile, func() string { found.made = newMasterKey(); return found.made })
		if err != nil {
			return found, err
		}
		if key, err = signer.ParseMasterKey(text); err != nil {
			return found, fmt.Errorf("read %s: %w", found.file, err)
		}
	}
	found.box, err = signer.NewBox(key)
	return found, err
}

// check returns a one-line error unless l was encrypted with the key; kept is
// false for a new ledger, which any key fits.
func (k masterKey) check(ctx context.Context, db *database.DB) (kept bool, err error) {
	kept, err = db.CheckMasterKey(ctx, k.box)
	switch {
	case !errors.Is(err, database.ErrOtherMasterKey):
		return kept, err
	case k.made != "":
		return kept, fmt.Errorf("%s is missing and LEDGERHOOK_MASTER_KEY is not set: restore the file, or set the key, that this database was encrypted with", k.file)
	case k.file != "":
		return kept, fmt.Errorf("%s is not the key that this database was encrypted with: restore the file that its first start made", k.file)
	}
	return kept, errors.New("LEDGERHOOK_MASTER_KEY or LEDGERHOOK_MASTER_KEY_FILE is not the key that this database was encrypted with: set the key it was first started with")
}

func newMasterKey() string {
	key := make([]byte, signer.MasterKeySize)
	_, _ = rand.Read(key) // never fails
	return base64.StdEncoding.EncodeToString(key)
}

// shownSecret finds a secret of the data directory, or generates it and keeps
// nothing: what it generates is gone with the caller.
func shownSecret(dir, name string, generate func() string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return generate(), nil
	}
	if err != nil {
		return "", fmt.Errorf("read the secret: %w", err)
	}
	return strings.TrimSpace(strings.TrimPrefix(string(text), "\uFEFF")), nil
}

// keptSecret is shownSecret, and keeps what it generates. The ledger holds the
// data directory for this process, so nobody else makes one meanwhile.
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

// newToken is a token of the internal API, as long as one that is set must be.
func newToken() string { return rand.Text() + rand.Text() }
