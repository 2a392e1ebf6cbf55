package partners_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"ledgerhook/partners"
)

func TestPasswordsThatCannotBe(t *testing.T) {
	for password, ok := range map[string]bool{
		"correct horse": true, "8 letter": true, "short 7": false, "": false, "password": false, "PassW0rd": false, "11111111": false, "12345678": false,
		"87654321": false, "abcdefgh": false, "ann.lee1!": false, "Ann.Lee2026": false, "ann.lee and more": true, "mật khẩu của tôi": true, "八个字的密码好吗": true,
		strings.Repeat("ab", 100): true, strings.Repeat("ab", 101): false, "not utf8 \xff\xfe": false,
	} {
		field := "password"
		if ok {
			field = ""
		}
		err := partners.CheckNewPassword("ann.lee", password)
		wantField(t, password, err, field)
		if err != nil && password != "" && password != "password" && password != "12345678" && strings.Contains(err.Error(), password) {
			t.Errorf("the error holds the password: %v", err)
		}
	}
}

func TestOnlyThePasswordFitsItsHash(t *testing.T) {
	ctx := t.Context()
	hash, err := partners.HashPassword(ctx, "correct horse")
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Fatalf("hash %q (%v)", hash, err)
	}
	again, _ := partners.HashPassword(ctx, "correct horse")
	if again == hash {
		t.Error("two hashes of one password are equal: there is no salt")
	}
	for _, c := range []struct {
		hash, password string
		want           bool
	}{
		{hash, "correct horse", true}, {again, "correct horse", true}, {hash, "correct horsf", false}, {hash, "", false},
		{hash, strings.Repeat("x", 1<<20), false}, {"", "correct horse", false}, {"", "", false},
	} {
		if got, err := partners.NewPasswords(1, 0).Check(ctx, c.hash, c.password); got != c.want || err != nil {
			t.Errorf("%.20q fits %.20q: %v (%v)", c.password, c.hash, got, err)
		}
	}
	for _, broken := range []string{"x", "$argon2id$v=18$m=19456,t=2,p=1$YQ$YQ", "$argon2id$v=19$m=19456,t=2,p=1$YQ", "$argon2id$v=19$m=19456,t=2,p=1$YQ$", "$argon2i$v=19$m=1,t=1,p=1$YQ$YQ"} {
		if got, err := partners.NewPasswords(1, 0).Check(ctx, broken, "x"); got || err == nil {
			t.Errorf("%q: %v (%v)", broken, got, err)
		}
	}
}

func TestAnOldCostStillFits(t *testing.T) { // made with 8 MiB, one pass
	hash := "$argon2id$v=19$m=8192,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$"
	if got, err := partners.NewPasswords(1, 0).Check(t.Context(), hash+"AAAAAAAAAAAAAAAAAAAAAA", "x"); got || err != nil {
		t.Errorf("a hash of another cost: %v (%v)", got, err)
	}
}

func TestCheckingAPasswordEndsWithItsRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var ended bool
	for range 50 { // a free place and an ended request are equally good to select
		_, err := partners.NewPasswords(1, 0).Check(ctx, "", "x")
		ended = ended || err != nil
	}
	if !ended {
		t.Error("a request that has ended still has passwords checked")
	}
}

func TestPasswordsLeaveTheCoreAloneBetweenTwo(t *testing.T) {
	t.Parallel()
	passwords := partners.NewPasswords(1, 1_000_000)
	began := time.Now()
	for range 2 {
		if _, err := passwords.Check(t.Context(), "", "x"); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took < 500*time.Millisecond {
		t.Errorf("two hashes within %s, without a pause of 500 ms between", took)
	}
}
