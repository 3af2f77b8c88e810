package webapi_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/loginlimit"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi/webapi"
)

// A client that guesses passwords reaches a limit, with new contexts, with the user's context and
// with scrapes. Other users, and the user at another address, still log in.
func TestGuesses(t *testing.T) {
	for _, path := range []string{"/pmapi/fetch?names=who.uid", "/pmapi/CONTEXT/fetch?names=who.uid", "/metrics?names=who.uid"} {
		t.Run(path, func(t *testing.T) {
			var gw *webapi.Gateway
			var log strings.Builder
			newCollector(t, false, func(g *webapi.Gateway) { gw, g.Log = g, slog.New(slog.NewTextHandler(&log, nil)) })
			h := webapi.Forwarded(gw, []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")})
			do := func(client, path, user, password string) (int, string) {
				r := httptest.NewRequest("GET", path, nil) // from 192.0.2.1
				r.Header.Set("X-Forwarded-For", "203.0.113.9, "+client)
				r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				return w.Code, w.Body.String()
			}
			path = withContext(t, path, do)
			refused, guesses, began := 0, pcptest.AttackSize(loginlimit.GatewayPerMinute+3, 20_000), time.Now()
			pcptest.Attack(t, func() {
				for range guesses {
					switch status, body := do("198.51.100.7", path, "amy", "guess"); status {
					case http.StatusTooManyRequests:
						refused++
					case http.StatusUnauthorized, http.StatusForbidden:
					default:
						t.Fatalf("%d %s", status, body)
					}
				}
			}, func() {
				if status, body := do("198.51.100.7", "/pmapi/fetch?names=who.uid", "bob", "secret"); status != http.StatusOK {
					t.Errorf("another user at the address during the attack: %d %s", status, body)
				}
			})
			t.Logf("refused: %d of %d guesses", refused, guesses)
			forgotten := 1 + int(time.Since(began)/(time.Minute/loginlimit.GatewayPerMinute))
			if checked := guesses - refused; checked < loginlimit.GatewayPerMinute || checked > loginlimit.GatewayPerMinute+forgotten {
				t.Errorf("%d of %d guesses were checked, want %d", checked, guesses, loginlimit.GatewayPerMinute)
			}
			if status, body := do("198.51.100.7", path, "amy", "secret"); status != http.StatusTooManyRequests {
				t.Errorf("the right password beyond the limit: %d %s", status, body)
			}
			if status, body := do("198.51.100.7", "/pmapi/fetch?names=who.uid", "bob", "secret"); status != http.StatusOK {
				t.Errorf("another user at the address: %d %s", status, body)
			}
			if status, body := do("198.51.100.8", path, "amy", "secret"); status != http.StatusOK {
				t.Errorf("the user at another address: %d %s", status, body)
			}
			if log := log.String(); !strings.Contains(log, "level=WARN msg=\"login failed\" addr=198.51.100.7:0 user=amy err=") || strings.Contains(log, "guess") {
				t.Errorf("the log, which has to have the user and no password:\n%s", log)
			}
		})
	}
}

// Only a listed proxy is believed about the address of its client, and only about the address that
// it saw itself.
func TestForwarded(t *testing.T) {
	var got string
	h := webapi.Forwarded(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr }),
		[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")})
	for _, c := range []struct{ peer, header, want string }{
		{"10.0.0.1:7", "198.51.100.1", "198.51.100.1:0"},
		{"10.0.0.1:7", "203.0.113.9, 198.51.100.1,10.0.0.2", "198.51.100.1:0"},
		{"[::ffff:10.0.0.1]:7", "2001:db8::1", "[2001:db8::1]:0"},
		{"10.0.0.1:7", "", "10.0.0.1:7"},
		{"10.0.0.1:7", "198.51.100.1, unknown", "10.0.0.1:7"},
		{"10.0.0.1:7", "10.0.0.2", "10.0.0.1:7"},
		{"192.0.2.1:7", "198.51.100.1", "192.0.2.1:7"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		r.Header.Set("X-Forwarded-For", c.header)
		h.ServeHTTP(nil, r)
		if got != c.want {
			t.Errorf("%s for %q: %s, want %s", c.peer, c.header, got, c.want)
		}
	}
}

// withContext returns path with the number of a context that amy opened.
func withContext(t *testing.T, path string, do func(client, path, user, password string) (int, string)) string {
	t.Helper()
	if !strings.Contains(path, "CONTEXT") {
		return path
	}
	status, body := do("198.51.100.8", "/pmapi/context?polltimeout=60", "amy", "secret")
	var c struct{ Context uint32 }
	if err := json.Unmarshal([]byte(body), &c); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	return strings.Replace(path, "CONTEXT", fmt.Sprint(c.Context), 1)
}
