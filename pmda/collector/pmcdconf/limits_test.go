package pmcdconf_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

func TestLimits(t *testing.T) {
	const agent = "x 250 pipe binary /bin/true\n"
	for _, tt := range []struct {
		name, text string
		want       pmcdconf.Limits
		access     bool
		errs       string // after the file's name
	}{
		{"none", agent, pmcdconf.Limits{}, false, ""},
		{"all", agent + "[limits]\nrequests : 10;\nbytes: 1000 ; # of all\ncontexts : 3;\nlogins : 4;\n", pmcdconf.Limits{Requests: 10, Bytes: 1000, Contexts: 3, Logins: 4}, false, ""},
		{"one", agent + "[ LIMITS ] bytes : 7 ;", pmcdconf.Limits{Bytes: 7}, false, ""},
		{"empty", agent + "[limits]\n", pmcdconf.Limits{}, false, ""},
		{"access after", agent + "[limits]\nrequests : 1;\n[access]\nallow * : all;\n", pmcdconf.Limits{Requests: 1}, true, ""},
		{"access before", agent + "[access]\nallow * : all;\n[limits]\nrequests : 1;\n", pmcdconf.Limits{}, false, ":4: allow or disallow statement expected, not \"[\""},
		{"no bracket", agent + "[limits\nrequests : 1;\n", pmcdconf.Limits{}, false, ":3: ']' expected"},
		{"unknown", agent + "[limits]\nspeed : 1;\n", pmcdconf.Limits{}, false, `:3: "requests", "bytes", "contexts" or "logins" expected in [limits] section`},
		{"no colon", agent + "[limits]\nbytes 1;\n", pmcdconf.Limits{}, false, `:3: ':' expected after "bytes"`},
		{"no number", agent + "[limits]\nbytes : x;\n", pmcdconf.Limits{}, false, ":3: limit of bytes must be a positive number"},
		{"zero", agent + "[limits]\nbytes : 0;\n", pmcdconf.Limits{}, false, ":3: limit of bytes must be a positive number"},
		{"too much", agent + "[limits]\nbytes : 99999999999;\n", pmcdconf.Limits{}, false, ":3: limit of bytes must be a positive number"},
		{"no end", agent + "[limits]\nbytes : 1\ncontexts : 2;\n", pmcdconf.Limits{}, false, ":4: ';' expected after the limit of bytes"},
		{"twice", agent + "[limits]\nbytes : 1;\nbytes : 2;\n", pmcdconf.Limits{}, false, ":4: limit of bytes already specified"},
		{"two faults", agent + "[limits]\nx : 1;\ncontexts : 2;\ny;\n", pmcdconf.Limits{}, false,
			":3: \"requests\", \"bytes\", \"contexts\" or \"logins\" expected in [limits] section\nconf:5: \"requests\", \"bytes\", \"contexts\" or \"logins\" expected in [limits] section"},
	} {
		cfg, err := pmcdconf.Parse("conf", strings.NewReader(tt.text))
		if tt.errs != "" {
			if cfg != nil || err == nil || err.Error() != "conf"+tt.errs {
				t.Errorf("%s: error %v, want conf%s", tt.name, err, tt.errs)
			}
			continue
		}
		if err != nil || cfg == nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, cfg.Limits); diff != "" || (cfg.Access != nil) != tt.access {
			t.Errorf("%s: access %v (-want +got):\n%s", tt.name, cfg.Access, diff)
		}
	}
}
