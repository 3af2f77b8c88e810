package saslconf

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUnsupportedLogins checks that a configuration reports its unsupported settings, and whether
// any user can log in.
func TestUnsupportedLogins(t *testing.T) {
	for _, test := range []struct {
		conf config
		want []string
	}{
		{config{}, nil},
		{config{check: "auxprop", mechanisms: []string{"plain", "LOGIN", "scram-sha-256"}}, nil},
		{config{check: "saslauthd"}, []string{
			"pwcheck_method: saslauthd: only auxprop is supported, so nobody can log in; users of auxprop are made by saslpasswd2 -a pmcd"}},
		{config{check: "saslauthd auxprop"}, []string{
			"pwcheck_method: saslauthd auxprop: only auxprop is supported, so the others are left out; users of auxprop are made by saslpasswd2 -a pmcd"}},
		{config{mechanisms: []string{"gssapi"}}, []string{"mech_list: gssapi: only scram-sha-256, plain and login are supported, so nobody can log in"}},
		{config{mechanisms: []string{"gssapi", "digest-md5", "plain"}}, []string{
			"mech_list: gssapi digest-md5: only scram-sha-256, plain and login are supported, so they are left out"}},
	} {
		if diff := cmp.Diff(test.want, unsupported(test.conf)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.conf, diff)
		}
	}
}

func TestLoad(t *testing.T) {
	dir, private := t.TempDir(), cmp.AllowUnexported(config{})
	path := filepath.Join(dir, "pmcd.conf")
	c, err := load(path)
	if diff := cmp.Diff(config{database: defaultDatabase}, c, private); diff != "" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the file: %v, %s", err, diff)
	}
	for text, want := range map[string]config{
		"": {database: defaultDatabase},
		"# c\n mech_list: plain  scram-sha-256 \n#keytab: /x\nsasldb_path:\t/etc/pcp/passwd.db\r\n": {[]string{"plain", "scram-sha-256"}, "/etc/pcp/passwd.db", ""},
		"mech_list:\npwcheck_method: saslauthd\nlog_level: 3\nword\n":                               {[]string{}, defaultDatabase, "saslauthd"},
		"pwcheck_method: saslauthd auxprop":                                                         {nil, defaultDatabase, "saslauthd auxprop"},
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := load(path)
		if diff := cmp.Diff(want, c, private); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
		if _, none := c.users().(unchecked); none != (want.check == "saslauthd") {
			t.Errorf("%q: users %#v", text, c.users())
		}
	}
	if _, err := unchecked("saslauthd").Verifier("root"); !errors.Is(err, saslFail) {
		t.Error(err)
	}
}
