package app

import (
	"bytes"
	"cmp"
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
	masterKeyFile   = "master-key"
	previousKeyFile = "previous-master-key"
	tokenFile       = "internal-token"
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
		key.made = ""
	}
	if !kept {
		if err := a.db.KeepMasterKey(ctx, key.box); err != nil {
			return err
		}
	}
	a.box = key.box
	if err := a.followMasterKey(ctx, key); err != nil {
		return err
	}
	if a.token = a.config.Token; a.token == "" {
		a.token, err = keptSecret(a.config.DataDir, tokenFile, newToken)
	}
	return err
}

// masterKey is the master key of a configuration, and where it is from.
type masterKey struct {
	own      *signer.Box // knows the key alone
	box      *signer.Box // knows the previous one, too
	file     string      // "": the configuration says it
	made     string      // what the file is to hold if it is missing
	previous string      // where the previous key is from; "": there is none
}

// findMasterKey takes the master key from the configuration or from the data
// directory, or generates one that nobody keeps yet; and the previous one, if
// there is any.
func findMasterKey(cfg config.Config) (found masterKey, err error) {
	key, previous := cfg.MasterKey, cfg.PreviousMasterKey
	found.previous = "LEDGERHOOK_PREVIOUS_MASTER_KEY"
	if key == nil {
		found.file = filepath.Join(cfg.DataDir, masterKeyFile)
		if key, err = readMasterKey(cfg.DataDir, masterKeyFile, func() string { found.made = newMasterKey(); return found.made }); err != nil {
			return found, err
		}
		if previous == nil {
			found.previous = filepath.Join(cfg.DataDir, previousKeyFile)
			if previous, err = readMasterKey(cfg.DataDir, previousKeyFile, func() string { return "" }); err != nil {
				return found, err
			}
		}
	}
	if found.own, err = signer.NewBox(key); err != nil {
		return found, err
	}
	if previous == nil || bytes.Equal(previous, key) { // the same: a rotation that had only begun to write files
		found.previous = ""
		found.box, err = signer.NewBox(key)
		return found, err
	}
	found.box, err = signer.NewBox(key, previous)
	return found, err
}

// previousFile is where the key before a key of the data directory is.
func (k masterKey) previousFile() string { return filepath.Join(filepath.Dir(k.file), previousKeyFile) }

// from is where the key is from, for people.
func (k masterKey) from() string { return cmp.Or(k.file, "LEDGERHOOK_MASTER_KEY") }

// readMasterKey reads one of the data directory's keys: nil if there is none and
// generate gives none.
func readMasterKey(dir, name string, generate func() string) ([]byte, error) {
	text, err := shownSecret(dir, name, generate)
	if err != nil || text == "" {
		return nil, err
	}
	key, err := signer.ParseMasterKey(text)
	if err != nil {
		err = fmt.Errorf("read %s: %w", filepath.Join(dir, name), err)
	}
	return key, err
}

// check makes the key that the ledger says the one that seals. It returns a
// one-line error unless the keys fit; kept is false for a new ledger, which any
// key fits.
func (k masterKey) check(ctx context.Context, db *database.DB) (kept bool, err error) {
	kept, err = db.CheckMasterKey(ctx, k.box)
	return kept, k.advise(err)
}

// advise says of keys that do not fit what to do; any other error stays as it is.
func (k masterKey) advise(err error) error {
	other, neither := errors.Is(err, database.ErrOtherMasterKey), ""
	if k.previous != "" {
		neither = ", and neither is " + k.previous
	}
	const not = " is not the key that this database was encrypted with"
	switch {
	case errors.Is(err, database.ErrPreviousNotThere) && k.file != "":
		return fmt.Errorf("%w: restore %s", database.ErrPreviousNotThere, k.previousFile())
	case errors.Is(err, database.ErrPreviousNotThere):
		return fmt.Errorf("%w: set it as LEDGERHOOK_PREVIOUS_MASTER_KEY", database.ErrPreviousNotThere)
	case other && k.made != "":
		return fmt.Errorf("%s is missing and LEDGERHOOK_MASTER_KEY is not set: restore the file, or set the key, that this database was encrypted with", k.file)
	case other && k.file != "":
		return fmt.Errorf("%s%s%s: restore the file that its first start, or the newest change of the key, has made", k.file, not, neither)
	case other:
		return fmt.Errorf("LEDGERHOOK_MASTER_KEY or LEDGERHOOK_MASTER_KEY_FILE%s%s: set the key it was first started with, or was changed to; a new one needs that beside it, as LEDGERHOOK_PREVIOUS_MASTER_KEY", not, neither)
	}
	return err
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
