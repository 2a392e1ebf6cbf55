package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ledgerhook/ledger/database"
	"ledgerhook/ledger/seals"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// followEvery is how often a process reads which master key seals, and says
// which ones it knows.
const followEvery = 2 * time.Second

// masterKeys are the master keys of a running process. It is safe for
// concurrent use.
type masterKeys struct {
	db      *database.DB
	seals   *seals.Seals
	process string
	host    string
	fail    func(error)

	rotating sync.Mutex // held during a step
	mu       sync.Mutex
	key      masterKey
}

// followMasterKey seals with the key that the ledger says, again and again, and
// says there which keys this process knows.
func (a *App) followMasterKey(ctx context.Context, key masterKey) error {
	m := &masterKeys{db: a.db, seals: seals.New(a.db), process: webhook.NewID("prc_"), host: hostName(), fail: a.fail, key: key}
	if err := m.seals.Forget(ctx, a.db.Embedded()); unlessAway(err) != nil {
		return fmt.Errorf("forget former processes: %w", err)
	}
	if err := unlessAway(m.hold(ctx)); err != nil {
		return err
	}
	a.cleanups.add("release the master key", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		return unlessAway(m.seals.Release(ctx, m.process))
	})
	a.background("stop following the master key", func(ctx context.Context) { a.every(ctx, followEvery, "follow the master key", m.follow) })
	a.masterKeys = m
	return nil
}

// unlessAway is err, but none while the ledger takes no changes: a process starts,
// serves what it can and stops all the same, and its health says why. No key can
// be changed meanwhile.
func unlessAway(err error) error {
	if webhook.KindOf(err) == webhook.KindUnavailable {
		return nil
	}
	return err
}

func (m *masterKeys) now() masterKey {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.key
}

// follow seals with the key that the ledger says by now. A process that does not
// know it ends: nobody could open what it seals.
func (m *masterKeys) follow(ctx context.Context) error {
	key := m.now()
	_, err := m.db.CheckMasterKey(ctx, key.box)
	if errors.Is(err, database.ErrOtherMasterKey) || errors.Is(err, database.ErrPreviousNotThere) {
		m.fail(key.advise(err))
	}
	if err != nil {
		return unlessAway(err)
	}
	return unlessAway(m.hold(ctx))
}

func (m *masterKeys) hold(ctx context.Context) error {
	if err := m.seals.Hold(ctx, m.process, m.host, m.now().box.Names()); err != nil {
		return fmt.Errorf("say which master keys this process knows: %w", err)
	}
	return nil
}

// RotateMasterKey implements ingest.MasterKey.
func (m *masterKeys) RotateMasterKey(ctx context.Context, by partners.AuditEntry) (r partners.MasterKeyRotation, err error) {
	m.rotating.Lock()
	defer m.rotating.Unlock()
	key, err := m.pair(ctx)
	if err != nil {
		return r, err
	}
	r, err = m.seals.Rotate(ctx, key.box, key.own, by)
	r.KeyFrom, r.PreviousFrom = key.from(), key.previous
	return r, err
}

// pair are both keys of a change that is under way or begins. A key of the data
// directory gets its successor here, unless there is one.
func (m *masterKeys) pair(ctx context.Context) (masterKey, error) {
	key := m.now()
	if key.previous != "" && !key.takenAway() {
		return key, nil
	}
	if key.previous != "" {
		if _, changing, err := m.db.MasterKeyChange(ctx); err != nil || changing {
			return key, err
		}
	}
	if key.file == "" {
		return key, webhook.Conflict("this process knows one master key: set a new one as LEDGERHOOK_MASTER_KEY and the present one as LEDGERHOOK_PREVIOUS_MASTER_KEY for every process, restart them and rotate again")
	}
	key, err := key.succeed()
	if err != nil {
		return key, err
	}
	m.mu.Lock()
	m.key = key
	m.mu.Unlock()
	return key, m.hold(ctx)
}

// takenAway reports whether the previous key was in a file that is gone.
func (k masterKey) takenAway() bool {
	_, err := os.Stat(k.previousFile())
	return k.file != "" && k.previous == k.previousFile() && errors.Is(err, fs.ErrNotExist)
}

// succeed makes the successor of a key that is a file in the data directory.
// Both are in files before anything is sealed with it.
func (k masterKey) succeed() (masterKey, error) {
	dir := filepath.Dir(k.file)
	present, err := shownSecret(dir, masterKeyFile, func() string { return "" })
	if err != nil {
		return k, err
	}
	if key, err := signer.ParseMasterKey(present); err != nil || !k.own.Is(key) {
		return k, webhook.Conflict(k.file + " does not hold the key that this process has read: restart it")
	}
	kept, err := shownSecret(dir, previousKeyFile, func() string { return present })
	if err != nil {
		return k, err
	}
	if kept != present {
		return k, webhook.Conflict(k.previousFile() + " holds another key: take it away first")
	}
	if err := keepSecret(dir, previousKeyFile, present); err != nil {
		return k, err
	}
	made := newMasterKey()
	if err := keepSecret(dir, masterKeyFile, made); err != nil {
		return k, err
	}
	next, err := signer.ParseMasterKey(made)
	if err != nil {
		return k, err
	}
	if k.own, err = signer.NewBox(next); err != nil {
		return k, err
	}
	k.previous = k.previousFile()
	return k, k.box.Learn(next)
}
