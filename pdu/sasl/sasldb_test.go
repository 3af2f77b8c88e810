package sasl

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// TestDatabase reads a database that saslpasswd2 has made.
func TestDatabase(t *testing.T) {
	f := File{Path: "testdata/sasldb", Realm: "test"}
	for _, test := range []struct {
		user, password string
		want           pdu.Error
	}{
		{"root", "secret", 0},
		{"pcp", "secret", 0},
		{"joe", "secret", 0},
		{"root@test", "secret", 0},
		{"root@elsewhere", "other", 0},
		{"root", "other", ErrAuth},
		{"root@elsewhere", "secret", ErrAuth},
		{"joe@elsewhere", "secret", ErrNoUser},
		{"ann", "secret", ErrNoUser},
		{"root@", "secret", 0},
	} {
		for _, m := range Mechanisms() {
			user, err := logIn(m, f, Credentials{test.user, test.password})
			if test.want == 0 && (err != nil || user != test.user) || test.want != 0 && !errors.Is(err, test.want) {
				t.Errorf("%s as %s with %s: %q, %v", m.Name, test.user, test.password, user, err)
			}
		}
	}
	if _, err := (File{Path: "testdata/sasldb"}).Verifier("root"); !errors.Is(err, ErrNoUser) {
		t.Errorf("in the realm of this host: %v", err)
	}
}

// TestDamagedDatabase: files that are damaged or of an unknown kind have no users, and reading
// them ends.
func TestDamagedDatabase(t *testing.T) {
	good, err := os.ReadFile("testdata/sasldb")
	if err != nil {
		t.Fatal(err)
	}
	const key = "root\x00test\x00userPassword"
	order, ok := isDB(good)
	if v, found, err := findDB(good, order, key); !ok || string(v) != "secret" || !found || err != nil {
		t.Fatalf("undamaged: %q, %v, %v", v, found, err)
	}
	for name, damage := range map[string]func(b []byte) []byte{
		"no page length":  func(b []byte) []byte { binary.LittleEndian.PutUint32(b[dbPageLenAt:], 0); return b },
		"odd page length": func(b []byte) []byte { binary.LittleEndian.PutUint32(b[dbPageLenAt:], 4095); return b },
		"long pages":      func(b []byte) []byte { binary.LittleEndian.PutUint32(b[dbPageLenAt:], 1<<31); return b },
		"new version":     func(b []byte) []byte { b[dbVersionAt] = 11; return b },
		"another type":    func(b []byte) []byte { b[dbTypeAt] = 9; return b },
		"encrypted":       func(b []byte) []byte { b[dbEncryptAt] = 1; return b },
		"with checksums":  func(b []byte) []byte { b[dbFlagsAt] = 1; return b },
		"many items":      func(b []byte) []byte { b[4096+dbItemsAt+1], b[8192+dbItemsAt+1] = 255, 255; return b },
		"an offset too low": func(b []byte) []byte {
			copy(b[4096+dbHeaderLen:], "\x04\x00")
			copy(b[8192+dbHeaderLen:], "\x04\x00")
			return b
		},
		"an offset too high": func(b []byte) []byte { b[4096+dbHeaderLen+1], b[8192+dbHeaderLen+1] = 255, 255; return b },
	} {
		b := damage(slices.Clone(good))
		if v, found, err := findDB(b, order, key); found || err == nil && name != "long pages" {
			t.Errorf("%s: %q, %v", name, v, err)
		}
	}
	for n := range len(good) {
		if order, ok := isDB(good[:n]); ok && n%97 == 0 {
			findDB(good[:n], order, key)
		}
	}
}

func FuzzDatabase(f *testing.F) {
	good, err := os.ReadFile("testdata/sasldb")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:8192])
	f.Fuzz(func(t *testing.T, b []byte) {
		order, ok := isDB(b)
		if !ok {
			return
		}
		v, found, err := findDB(b, order, "root\x00test\x00userPassword")
		if (err != nil || !found) && v != nil {
			t.Fatalf("%q, %v, %v", v, found, err)
		}
	})
}

// TestInteropDatabase reads databases of saslpasswd2 with many users, some of them removed.
func TestInteropDatabase(t *testing.T) {
	pcptest.Need(t, "saslpasswd2")
	path := filepath.Join(t.TempDir(), "passwd.db")
	name := func(i int) string { return strings.Repeat("long", 40) + string(rune('a'+i)) }
	for i := range 24 { // more than a page has room for
		_, stderr, status := pcptest.Run(t, nil, "secret-"+name(i), "saslpasswd2", "-a", "pmcd", "-c", "-p", "-f", path, "-u", "r", name(i))
		if status != 0 {
			t.Fatal(stderr)
		}
	}
	pcptest.Run(t, nil, "", "saslpasswd2", "-a", "pmcd", "-d", "-f", path, "-u", "r", name(3))
	f := File{Path: path, Realm: "r"}
	for i := range 25 {
		v, err := f.Verifier(name(i))
		switch {
		case i == 3 || i == 24:
			if !errors.Is(err, ErrNoUser) {
				t.Errorf("user %d: %v", i, err)
			}
		case err != nil || !v.Check("secret-"+name(i)):
			t.Errorf("user %d: %v", i, err)
		}
	}
}
