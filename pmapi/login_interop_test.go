package pmapi_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/sasl"
	"github.com/pcp-go/pcp/pmapi"
)

// Logins to the C pmcd, with the database of the Cyrus library, succeed if they succeed for the C
// library, and otherwise fail with the same code. Dial fails where in C the first request fails.
func TestInteropLogin(t *testing.T) {
	pcptest.Need(t, "pmcd", "saslpasswd2")
	dir := pcptest.ShortDir(t)
	db := filepath.Join(dir, "passwd.db")
	for _, name := range []string{"root", "nosuchaccount"} {
		if _, stderr, status := pcptest.Run(t, nil, "secret", "saslpasswd2", "-a", "pmcd", "-c", "-p", "-f", db, name); status != 0 {
			t.Fatalf("saslpasswd2: %s", stderr)
		}
	}
	conf := "mech_list: plain login scram-sha-256\nsasldb_path: " + db + "\n"
	if err := os.WriteFile(filepath.Join(dir, "pmcd.conf"), []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{"PCP_SASL2_CONFIG_PATH=" + dir}
	open := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd"}, Env: env})
	closed := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd"}, Env: env, Args: []string{"-S"}})
	for _, test := range []struct {
		pmcd  *pcptest.PMCD
		attrs string
		want  pdu.Error
	}{
		{open, "", 0},
		{open, "?user=root&pass=secret", 0},
		{open, "?user=root&pass=sec%72et&method=scram-sha-256", 0},
		{open, "?user=root&pass=secret&method=plain", 0},
		{open, "?user=root&pass=secret&method=login", 0},
		{open, "?user=root&pass=secret&container=web", 0},
		{open, "?user=root&pass=bad", sasl.ErrAuth},
		{open, "?user=root&pass=bad&method=plain", sasl.ErrAuth},
		{open, "?user=root&pass=bad&method=login", sasl.ErrAuth},
		{open, "?user=bob&pass=secret", sasl.ErrNoUser},
		{open, "?user=bob&pass=secret&method=plain", sasl.ErrNoUser},
		{open, "?user=nosuchaccount&pass=secret", -3},
		{open, "?pass=secret", sasl.ErrParam},
		{open, "?user=root&pass=secret&method=anonymous", sasl.ErrNoMechanism},
		{closed, "", sasl.ErrParam},
		{closed, "?user=root&pass=secret", 0},
		{closed, "?user=root&pass=secret&container=web", 0},
		{closed, "?user=root&pass=bad&method=plain", sasl.ErrAuth},
	} {
		for _, spec := range []string{test.pmcd.Host() + test.attrs, "unix://" + test.pmcd.Socket() + test.attrs} {
			want := test.want
			if test.pmcd == closed && test.attrs == "" && spec[0] == 'u' {
				want = 0 // pmcd knows the user
			}
			c, err := pmapi.Dial(t.Context(), spec)
			if pdu.FromError(err) != want {
				t.Errorf("%s: %v, want %v", spec, err, want)
			}
			if c != nil {
				if err := works(t, c); err != nil {
					t.Errorf("%s: %v", spec, err)
				}
				c.Close()
			}
		}
	}
}
