package webapi_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/sasl"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/webapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// users contains amy and bob, who share a password.
var users = sync.OnceValue(func() sasl.Users {
	v, err := sasl.NewVerifier("secret")
	if err != nil {
		panic(err)
	}
	return sasl.Map{"amy": v, "bob": v}
})

// newCollector serves a collector in this process through a gateway. The user amy may log in. The
// metric who.uid is the user id that agents see, and who.stored the last stored value.
func newCollector(t *testing.T, credsRequired bool, options ...func(*webapi.Gateway)) server {
	agent := &pmda.Agent{Name: "who", Domain: 251}
	stored := "nothing"
	pmda.Register(agent, pmda.Metric[int32]{Name: "who.uid", Value: func(_ context.Context, r *pmda.Request, _ pdu.Instance) (int32, error) {
		return int32(r.Client.UID), nil
	}})
	pmda.Register(agent, pmda.Metric[string]{
		Name:  "who.stored",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (string, error) { return stored, nil },
		Store: func(_ context.Context, _ *pmda.Request, _ pdu.Instance, v string) error { stored = v; return nil },
	})
	srv := &collector.Server{
		Logger: slog.New(slog.DiscardHandler), CredsRequired: credsRequired,
		Users:         users(),
		LookupAccount: func(string) (uid, gid int, err error) { return 4711, 4711, nil },
	}
	if err := srv.Add(agent); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close() })
	g := &webapi.Gateway{Dialer: &pmapi.Dialer{DialContext: srv.DialContext}}
	for _, o := range options {
		o(g)
	}
	return serve(t, g)
}

const (
	amy   = "Basic YW15OnNlY3JldA==" // amy:secret
	wrong = "Basic YW15OndoYXQ="     // amy:what
)

// Clients without a login have the rights of an unknown user, not those of this process. The status
// tells whether a login is missing or wrong.
func TestRights(t *testing.T) {
	for _, c := range []struct {
		name          string
		credsRequired bool
		login         string
		status        int
		want          string
	}{
		{"no login", false, "", 200, `"value":-1}`},
		{"login", false, amy, 200, `"value":4711}`},
		{"wrong login", false, wrong, 401, `Authentication - `},
		{"missing login", true, "", 401, `"success":false`},
		{"login that is required", true, amy, 200, `"value":4711}`},
	} {
		s := newCollector(t, c.credsRequired)
		r := s.do(t, "GET", "/pmapi/fetch?names=who.uid", "", "Authorization", c.login)
		if r.status != c.status || !strings.Contains(r.body, c.want) {
			t.Errorf("%s: %d %s, want %d %s", c.name, r.status, r.body, c.status, c.want)
		}
		page := s.do(t, "GET", "/metrics?names=who.uid", "", "Authorization", c.login)
		if page.status != c.status || c.status == 401 && page.header.Get("Www-Authenticate") == "" {
			t.Errorf("%s: /metrics: %d %v %s, want %d", c.name, page.status, page.header, page.body, c.status)
		}
	}
}

// A value is stored only with a login in the header Authorization that the collector accepts, or
// through a gateway with AllowStore. A URL alone, which any page can make a browser send, stores
// nothing.
func TestStoreNeedsLogin(t *testing.T) {
	allow := func(g *webapi.Gateway) { g.AllowStore = true }
	for _, c := range []struct {
		name, method, query, login string
		options                    []func(*webapi.Gateway)
		status                     int
		want                       string
	}{
		{"image", "GET", "", "", nil, 401, "nothing"},
		{"form", "POST", "", "", nil, 401, "nothing"},
		{"login in the URL", "GET", "&hostspec=localhost%3Fuser%3Damy%26pass%3Dsecret", "", nil, 401, "nothing"},
		{"wrong login", "GET", "", wrong, nil, 401, "nothing"},
		{"login", "GET", "", amy, nil, 200, "x"},
		{"login and POST", "POST", "", amy, nil, 200, "x"},
		{"allowed", "GET", "", "", []func(*webapi.Gateway){allow}, 200, "x"},
	} {
		s := newCollector(t, false, c.options...)
		anonymous := s.open(t, "polltimeout=60")
		refused, many := 0, 1
		if c.status != http.StatusOK {
			many = pcptest.AttackSize(1, 2000)
		}
		pcptest.Attack(t, func() {
			for range many {
				r := s.do(t, c.method, "/pmapi/store?name=who.stored&value=x"+c.query, "", "Authorization", c.login)
				if r.status != c.status && (c.login != wrong || r.status != http.StatusTooManyRequests) {
					t.Fatalf("%s: %d %s, want %d", c.name, r.status, r.body, c.status)
				}
				if r.status != http.StatusOK {
					refused++
				}
			}
		}, func() {
			if r := s.get(t, "/pmapi/"+anonymous+"/fetch?names=who.uid"); r.status != http.StatusOK {
				t.Errorf("%s: another client: %d %s", c.name, r.status, r.body)
			}
		})
		t.Logf("refused: %d of %d stores: %s", refused, many, c.name)
		if r := s.get(t, "/pmapi/fetch?names=who.stored"); !strings.Contains(r.body, `"value":"`+c.want+`"`) {
			t.Errorf("%s: %s, want %s", c.name, r.body, c.want)
		}
		if r := s.do(t, "GET", "/pmapi/"+anonymous+"/store?name=who.stored&value=y", "", "Authorization", wrong); (r.status == 200) != (c.options != nil) {
			t.Errorf("%s: in a context without a login: %d %s", c.name, r.status, r.body)
		}
	}
}

// With RequireLogin, only users of the collector can read anything of it.
func TestRequireLogin(t *testing.T) {
	s := newCollector(t, false, func(g *webapi.Gateway) {
		g.RequireLogin = true
		g.Local = func(context.Context) (*pmapi.Context, error) { panic("a context without a login") }
		g.Sources = map[string]func(context.Context) (*pmapi.Context, error){"a": g.Local}
	})
	for path, want := range map[string]int{
		"/": 200, "/page/main.js": 200, "/live/sources": 200, "/metrics?names=who.uid": 200, "/pmapi/fetch?names=who.uid": 200, "/pmapi/context": 200,
		"/pmapi/fetch?names=who.uid&hostspec=a": 403,
	} {
		if r := s.do(t, "GET", path, "", "Authorization", amy); r.status != want {
			t.Errorf("%s as a user: %d %.200s, want %d", path, r.status, r.body, want)
		}
		if path == "/live/sources" {
			continue // its reply contains nothing
		}
		if r := s.get(t, path); want == 200 && (r.status != 401 || r.header.Get("Www-Authenticate") == "") {
			t.Errorf("%s without a login: %d %.200s", path, r.status, r.body)
		}
		if r := s.do(t, "GET", path, "", "Authorization", wrong); want == 200 && r.status != 401 && !strings.HasPrefix(path, "/page") && path != "/" {
			t.Errorf("%s with a wrong password: %d %.200s", path, r.status, r.body)
		}
	}
	if r := s.get(t, "/live/events?names=who.uid"); r.status != 401 {
		t.Errorf("/live/events: %d %.200s", r.status, r.body)
	}
}

// Errors contain the address that was tried. Requests for time series have an error message.
func TestErrorsSayWhere(t *testing.T) {
	s := serve(t, &webapi.Gateway{Allow: []string{"localhost:*", "nosuch.invalid"}})
	for path, want := range map[string]string{
		"/pmapi/fetch?hostspec=localhost:1&names=x":                              "cannot connect to PMCD: Connection refused: localhost:1: ",
		"/metrics?hostspec=localhost:1":                                          "cannot connect to PMCD: Connection refused: localhost:1: ",
		"/pmapi/fetch?hostspec=localhost:1%3Fuser%3Damy%26pass%3Dsecret&names=x": "cannot connect to PMCD: Connection refused: localhost:1: ",
		"/series/query?expr=x":                                                   "there is no store of time series here",
		"/search/text?query=x":                                                   "there is no store of time series here",
	} {
		r := s.get(t, path)
		if !strings.Contains(r.body, `"message":"`+want) || strings.Contains(r.body, "secret") {
			t.Errorf("%s: %s, want %s", path, r.body, want)
		}
	}
}

// The first line of /metrics tells persons, but not scrapers, that Prometheus gets other names.
func TestNamesForPersons(t *testing.T) {
	s := newGateway(t)
	for _, c := range []struct {
		accept, query string
		want          bool
	}{
		{"*/*", "", true},
		{"text/html,application/xhtml+xml,*/*;q=0.8", "", true},
		{"", "", false},
		{"text/plain;version=0.0.4", "", false},
		{"application/openmetrics-text;version=1.0.0,*/*;q=0.1", "", false},
		{"*/*", "&format=pcp", false},
		{"*/*", "&format=prometheus", false},
	} {
		r := s.do(t, "GET", "/metrics?names=t.max"+c.query, "", "Accept", c.accept)
		if got := strings.HasPrefix(r.body, "# These are the names and units of PCP's pmproxy."); got != c.want || !strings.Contains(r.body, "t_max") {
			t.Errorf("Accept %q%s: %.300s, want the line: %v", c.accept, c.query, r.body, c.want)
		}
	}
}
