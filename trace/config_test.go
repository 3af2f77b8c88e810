package trace_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pcp-go/pcp/trace"
)

func TestFromEnv(t *testing.T) {
	names := []string{"HOST", "PORT", "TIMEOUT", "REQTIMEOUT", "RECONNECT", "NOAGENT"}
	for _, tt := range []struct {
		env  string // names and values
		want trace.Config
		bad  []string // variables in the error
	}{
		{env: ""},
		{env: "HOST=web1 PORT=0x10ff TIMEOUT=0.5 REQTIMEOUT=7 RECONNECT=1,2,30 NOAGENT=",
			want: trace.Config{Host: "web1", Port: 4351, ConnectTimeout: 500 * time.Millisecond, RequestTimeout: 7 * time.Second,
				Reconnect: []time.Duration{time.Second, 2 * time.Second, 30 * time.Second}, NoAgent: true}},
		{env: "PORT=010 TIMEOUT=1e-30", want: trace.Config{Port: 8, ConnectTimeout: 1}},
		{env: "HOST=h PORT=x TIMEOUT=-1 REQTIMEOUT=NaN RECONNECT=5,,6", want: trace.Config{Host: "h"},
			bad: []string{`PCP_TRACE_PORT="x", want a number`, `PCP_TRACE_TIMEOUT="-1", want seconds`,
				`PCP_TRACE_REQTIMEOUT="NaN", want seconds`, `PCP_TRACE_RECONNECT="5,,6", want whole seconds`}},
		{env: "TIMEOUT=9223372036.854775807", bad: []string{"TIMEOUT"}}, // the nearest float64 is 1 ns too large
		{env: "PORT=65536 TIMEOUT=1e300 REQTIMEOUT= RECONNECT=0",
			bad: []string{"PORT", "TIMEOUT", "REQTIMEOUT", "RECONNECT"}},
	} {
		t.Run(tt.env, func(t *testing.T) {
			for _, name := range names {
				t.Setenv("PCP_TRACE_"+name, "") // restores it after the test
				os.Unsetenv("PCP_TRACE_" + name)
			}
			for _, kv := range strings.Fields(tt.env) {
				name, value, _ := strings.Cut(kv, "=")
				t.Setenv("PCP_TRACE_"+name, value)
			}
			got, err := trace.FromEnv()
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(trace.Config{}, "DialContext", "Logger")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err != nil) != (tt.bad != nil) || err != nil && !errors.Is(err, trace.ErrEnvFormat) {
				t.Errorf("%v", err)
			}
			for _, bad := range tt.bad {
				if !strings.Contains(err.Error(), bad) {
					t.Errorf("%v does not tell of %s", err, bad)
				}
			}
		})
	}
}
