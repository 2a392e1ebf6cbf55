package signer

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func newTestBox(t testing.TB, fill byte) *Box {
	t.Helper()
	box, err := NewBox(bytes.Repeat([]byte{fill}, MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func TestABoxGivesBackWhatItSealed(t *testing.T) {
	box := newTestBox(t, 1)
	rapid.Check(t, func(t *rapid.T) {
		purpose := rapid.String().Draw(t, "purpose")
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		sealed := box.Seal(purpose, plain)
		got, err := box.Open(purpose, sealed)
		if err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("got %x, %v", got, err)
		}
		if bytes.Equal(box.Seal(purpose, plain), sealed) {
			t.Fatal("sealing twice gave the same bytes")
		}
	})
}

func TestABoxOpensWhatEarlierVersionsSealed(t *testing.T) {
	sealed, err := base64.StdEncoding.DecodeString("AdYYl0qZrV5PRCzJc9F/lLKS+YQE4IRcVBu99Lenw8C7+kTXcg==")
	if err != nil {
		t.Fatal(err)
	}
	got, err := newTestBox(t, 7).Open("a purpose", sealed)
	if err != nil || string(got) != "a secret" {
		t.Errorf("%q, %v", got, err)
	}
	if again := newTestBox(t, 7).Seal("a purpose", got); len(again) != len(sealed) || again[0] != sealed[0] {
		t.Errorf("it is sealed again as %x, before as %x", again, sealed)
	}
}

func TestABoxOpensNothingElse(t *testing.T) {
	box := newTestBox(t, 1)
	sealed := box.Seal("webhook secret sec_1", []byte("whsec_value"))
	if bytes.Contains(sealed, []byte("value")) {
		t.Error("the secret is readable")
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if _, err := box.Open("webhook secret sec_1", changed); err == nil {
			t.Errorf("opens with byte %d changed", i)
		}
		if _, err := box.Open("webhook secret sec_1", sealed[:i]); err == nil {
			t.Errorf("opens when cut to %d bytes", i)
		}
	}
	if _, err := box.Open("webhook secret sec_2", sealed); err == nil {
		t.Error("opens for another row")
	}
	if _, err := newTestBox(t, 2).Open("webhook secret sec_1", sealed); err == nil {
		t.Error("opens with another master key")
	}
}

// While one key takes another's place, processes know both and seal with the one
// that the ledger says, whichever is the first in their settings.
func TestABoxWithTwoKeysSealsWithTheOneItFollows(t *testing.T) {
	old, next := newTestBox(t, 1), newTestBox(t, 2)
	both, err := NewBox(bytes.Repeat([]byte{2}, MasterKeySize), bytes.Repeat([]byte{1}, MasterKeySize))
	if err != nil {
		t.Fatal(err)
	}
	marks := map[*Box][]byte{old: old.Seal("mark", nil), next: next.Seal("mark", nil)}
	for _, followed := range []*Box{next, old, old, next} {
		if err := both.Follow("mark", marks[followed]); err != nil {
			t.Fatal(err)
		}
		if _, err := followed.Open("a", both.Seal("a", []byte("text"))); err != nil {
			t.Errorf("it does not seal with the key that it follows: %v", err)
		}
		if names := both.Names(); len(names) != 2 || names[0] != followed.Names()[0] || names[0] == names[1] {
			t.Errorf("the keys are %v, it follows %v", names, followed.Names())
		}
		if derived := both.Derive("label"); len(derived) != 2 || !bytes.Equal(derived[0], followed.Derive("label")[0]) {
			t.Error("it does not derive with the key that it follows first")
		}
		for _, one := range []*Box{old, next} {
			if plain, err := both.Open("a", one.Seal("a", []byte("text"))); err != nil || string(plain) != "text" {
				t.Errorf("it does not open what either key has sealed: %q, %v", plain, err)
			}
		}
	}
	before := both.Names()
	for _, foreign := range [][]byte{newTestBox(t, 3).Seal("mark", nil), old.Seal("another", nil), nil} {
		if err := both.Follow("mark", foreign); err == nil || both.Names()[0] != before[0] {
			t.Errorf("it follows %v, %v", both.Names(), err)
		}
	}
	if err := both.Learn(bytes.Repeat([]byte{3}, MasterKeySize)); err != nil {
		t.Fatal(err)
	}
	third := newTestBox(t, 3)
	if err := both.Follow("mark", third.Seal("mark", nil)); err != nil {
		t.Fatal(err)
	}
	if got, want := both.Names(), append(third.Names(), before...); !slices.Equal(got, want) {
		t.Errorf("the keys are %v, want %v: the one that sealed before is the previous one", got, want)
	}
	if _, err := NewBox(make([]byte, MasterKeySize), make([]byte, 16)); err == nil {
		t.Error("made a box with a second key of 16 bytes")
	}
}

func TestParseMasterKey(t *testing.T) {
	key := bytes.Repeat([]byte{0xfb}, MasterKeySize)
	text := base64.StdEncoding.EncodeToString(key)
	for _, good := range []string{text, text + "\n", strings.TrimRight(text, "="), base64.URLEncoding.EncodeToString(key)} {
		if got, err := ParseMasterKey(good); err != nil || !bytes.Equal(got, key) {
			t.Errorf("%q: %x, %v", good, got, err)
		}
	}
	for _, bad := range []string{"", "AAAA", "not base64!", text + text} {
		if _, err := ParseMasterKey(bad); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, size := range []int{0, 16, 31, 33} {
		if _, err := NewBox(make([]byte, size)); err == nil {
			t.Errorf("made a box with a key of %d bytes", size)
		}
	}
}

// The value was computed with another HKDF-SHA-256: a derived key must never
// change, since what was made under it is stored.
func TestABoxDerivesOneKeyPerLabel(t *testing.T) {
	key := make([]byte, MasterKeySize)
	for i := range key {
		key[i] = byte(i)
	}
	box, err := NewBox(key)
	if err != nil {
		t.Fatal(err)
	}
	const want = "31e5975fdd92ab2aa6a93db09e43cce3a999c0073de419fd4d01f03469af9eef"
	if got := hex.EncodeToString(box.Derive("one-time codes")[0]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if bytes.Equal(box.Derive("one-time codes")[0], box.Derive("another label")[0]) {
		t.Error("two labels give one key")
	}
	if bytes.Equal(box.Derive("one-time codes")[0], newTestBox(t, 1).Derive("one-time codes")[0]) {
		t.Error("two master keys give one key")
	}
}
