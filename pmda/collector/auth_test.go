package collector_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/sasl"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// accounts maps users to their user and group IDs. Each can log in with the password "secret".
// The users joe and dave have no account on this computer.
var accounts = map[string][2]int{"root": {0, 0}, "pcp": {999, 995}, "daemon": {1, 1}, "joe": {-1, -1}, "dave": {-1, -1}}

// loginUsers creates the verifiers once, because that is slow by design.
var loginUsers = sync.OnceValue(func() sasl.Users {
	m := sasl.Map{}
	for name := range accounts {
		v, err := sasl.NewVerifier("secret")
		if err != nil {
			panic(err)
		}
		m[name] = v
	}
	return m
})

func lookupAccount(user string) (uid, gid int, err error) {
	if a, ok := accounts[user]; ok && a[0] >= 0 {
		return a[0], a[1], nil
	}
	return 0, 0, errors.New("no such account")
}

// loginServer returns a Server that the accounts can log in to.
func loginServer(s *collector.Server) *collector.Server {
	s.Users, s.LookupAccount = loginUsers(), lookupAccount
	return s
}

// A knowingAgent records the client attributes that it receives.
type knowingAgent struct {
	collectortest.Agent
	mu   sync.Mutex
	told []string
}

func newKnowingAgent() *knowingAgent {
	return &knowingAgent{Agent: collectortest.Agent{Name: "knowing", Domain: 10}}
}

func (a *knowingAgent) SetClient(c *pmda.Client) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told = append(a.told, fmt.Sprintf("uid %d gid %d user %q container %q", c.UID, c.GID, c.User, c.Container))
}

// take returns what the agent has received since the last call.
func (a *knowingAgent) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	told := a.told
	a.told = nil
	return told
}

const (
	featureAuth     = "01020004"
	featureRequired = "01020008"
)

var describe = pdu.DescReq{PMID: pdu.MakePMID(10, 0, 1)}

func creds(f pdu.Features) pdu.PDU { return pdu.Creds{Version: pdu.ProtocolVersion, Features: f} }

func message(text string) pdu.PDU { return pdu.Attr{Value: []byte(text)} }

// logIn logs in a client that has read the challenge. It returns "" if nothing has failed so far.
func logIn(t *testing.T, g *collectortest.Client, mechanism, user, password string) string {
	t.Helper()
	m, _ := sasl.Find(mechanism)
	c := m.NewClient(sasl.Credentials{User: user, Password: password})
	g.Send(creds(pdu.FeatureAuth))
	prefix := mechanism + "\x00"
	next := func() (challenge []byte, failed string) {
		h, body, err := g.Read()
		if err != nil {
			t.Fatal(err)
		}
		if h.Kind == pdu.KindError {
			var s pdu.Status
			s.Decode(body)
			return nil, s.Code.Error()
		}
		var p pdu.Attr
		if err := p.Decode(body); h.Kind != pdu.KindAttr || err != nil || p.Key != 0 {
			t.Fatalf("%v %x", h.Kind, body)
		}
		return slices.Clone(p.Value), ""
	}
	if _, failed := next(); failed != "" {
		return failed
	}
	var challenge []byte
	for {
		response, err := c.Next(challenge)
		if err != nil {
			t.Fatal(err)
		}
		g.Send(message(prefix + string(response)))
		prefix = ""
		if c.Done() {
			return ""
		}
		var failed string
		if challenge, failed = next(); failed != "" {
			return failed
		}
	}
}

// TestLoginCaptures replays captured logins of PCP 6.0.3, with the next request sent before the
// reply. A client in this process is offered all mechanisms. The capture of SCRAM-SHA-256 is in
// package sasl.
func TestLoginCaptures(t *testing.T) {
	const (
		offer = "00000029 00007011 00000000 00000000 504c41494e204c4f47494e20534352414d2d5348412d323536"
		desc  = "00000010 00007004 00000000 02800001"
		reply = "00000020 00007005 00000000 02800001 00000001 ffffffff 00000003 00000000"
	)
	auth := "00000014 0000700c 00002d51 00000001 " + featureAuth
	for name, say := range map[string][]string{
		"A": {"> " + auth, "< " + offer,
			"> 00000026 00007011 00000000 00000000 504c41494e00 726f6f7400 726f6f7400 736563726574" + desc, "< " + reply},
		// The user is known already.
		"A by CREDS_REQD": {"> 00000014 0000700c 00002d51 00000001 " + featureRequired + desc, "< " + reply},
		"A by both, as libpcp where credentials are required": {"> 00000014 0000700c 00002d51 00000001 0102000c" + desc, "< " + reply},
		"A in small letters, with another attribute": {"> " + auth, "< " + offer,
			"> 00000026 00007011 00000000 00000063 706c61696e00 726f6f7400 726f6f7400 736563726574" + desc, "< " + reply},
		"A without an initial response": {"> " + auth, "< " + offer, "> 00000015 00007011 00000000 00000000 504c41494e",
			"< 00000010 00007011 00000000 00000000",
			"> 00000020 00007011 00000000 00000000 726f6f7400 726f6f7400 736563726574" + desc, "< " + reply},
		"B": {"> " + auth, "< " + offer,
			"> 00000050 00007011 00000000 00000000 534352414d2d5348412d32353600" + hex.EncodeToString([]byte("n,a=root,n=root,r=sw+eVnsDLqz0E9US0V5VX+lM3afpsdzc")), "< 00000088 00007011 00000000 00000000"},
		"C": {"> " + auth, "< " + offer, "> 00000016 00007011 00000000 00000000 4c4f47494e00",
			"< 00000019 00007011 00000000 00000000 557365726e616d653a", "> 00000014 00007011 00000000 00000000 726f6f74",
			"< 00000019 00007011 00000000 00000000 50617373776f72643a", "> 00000016 00007011 00000000 00000000 736563726574" + desc, "< " + reply},
		"D": {"> " + auth, "< " + offer, "> 00000023 00007011 00000000 00000000 504c41494e00 726f6f7400 726f6f7400 626164" + desc,
			"< 00000010 00007000 00000000 ffffac93", "< 00000010 00007000 00000000 ffffcf9d"},
		"E": {"> " + auth, "< " + offer,
			"> 00000050 00007011 00000000 00000000 534352414d2d5348412d32353600" + hex.EncodeToString([]byte("n,a=root,n=root,r=sw+eVnsDLqz0E9US0V5VX+lM3afpsdzc")), "< 00000088 00007011 00000000 00000000",
			"> 00000013 00007011 00000000 00000000 783d79", "< 00000010 00007000 00000000 ffffac9b"},
		"F": {"> " + auth, "< " + offer,
			"> 00000032 00007011 00000000 00000000 534352414d2d5348412d32353600" + hex.EncodeToString([]byte("n,a=bob,n=bob,r=swxx")), "< 00000010 00007000 00000000 ffffac8c"},
	} {
		t.Run(name, func(t *testing.T) {
			s := collectortest.CloseAtEnd(t, loginServer(&collector.Server{}))
			collectortest.Add(t, s, &collectortest.Agent{Name: "a", Domain: 10})
			g := collectortest.Dial(t, s)
			if got := g.Receive(); got != "challenge 0xe44" {
				t.Error(got)
			}
			for i, line := range say {
				b, err := hex.DecodeString(strings.ReplaceAll(line[2:], " ", ""))
				if err != nil {
					t.Fatal(err)
				}
				if line[0] == '>' {
					go g.SendBytes(b) // the collector may write before it reads this
					continue
				}
				got := make([]byte, len(b))
				g.Net.SetReadDeadline(time.Now().Add(time.Minute))
				if _, err := io.ReadFull(g.Net, got); err != nil || string(got) != string(b) {
					t.Fatalf("line %d: got %x, %v, want %x", i, got, err, b)
				}
				// Read the rest of a PDU with a random part.
				if rest := int64(got[3]) - int64(len(got)); rest > 0 {
					io.CopyN(io.Discard, g.Net, rest)
				}
			}
		})
	}
}

// TestLoginFailures sends each kind of bad login and checks the error that the client gets. After
// that all operations are denied until other CREDS succeed.
func TestLoginFailures(t *testing.T) {
	plain := func(text string) []pdu.PDU { return []pdu.PDU{creds(pdu.FeatureAuth), message("PLAIN\x00" + text)} }
	long := func(n int) []pdu.PDU { return plain(strings.Repeat("x", n-len("PLAIN\x00"))) }
	for _, test := range []struct {
		name string
		say  []pdu.PDU
		want pdu.Error
		log  string
	}{
		{"wrong password", plain("root\x00root\x00bad"), sasl.ErrAuth, "Password verification failed"},
		{"unknown user", plain("bob\x00bob\x00bad"), sasl.ErrNoUser, "unable to canonify user and get auxprops"},
		{"another identity", plain("pcp\x00root\x00secret"), sasl.ErrAuth, "Requested identity not authenticated identity"},
		{"no response", plain(""), sasl.ErrProtocol, "Can only find author (no password)"},
		{"unknown mechanism", []pdu.PDU{creds(pdu.FeatureAuth), message("DIGEST-MD5\x00")}, sasl.ErrNoMechanism, `Couldn't find mech "DIGEST-MD5"`},
		{"anonymous", []pdu.PDU{creds(pdu.FeatureAuth), message("ANONYMOUS\x00me")}, sasl.ErrNoMechanism, `Couldn't find mech "ANONYMOUS"`},
		{"nothing", []pdu.PDU{creds(pdu.FeatureAuth), message("")}, sasl.ErrParam, "no mechanism from the client"},
		{"a request", []pdu.PDU{creds(pdu.FeatureAuth), describe}, pdu.ErrIPC, "login failed"},
		{"the client's error", []pdu.PDU{creds(pdu.FeatureAuth), pdu.Status{Code: -21351}}, -21351, "login failed"},
		{"no error of the client", []pdu.PDU{creds(pdu.FeatureAuth), pdu.Status{Code: 5}}, pdu.ErrIPC, "login failed"},
		{"longest", long(2047), sasl.ErrProtocol, "Can only find author (no password)"},
		{"longer", []pdu.PDU{creds(pdu.FeatureAuth), pdu.Attr{Key: 99, Value: make([]byte, 2048)}}, pdu.ErrIPC, "login failed"},
		{"silence", []pdu.PDU{creds(pdu.FeatureAuth)}, pdu.ErrTimeout, "login failed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := collectortest.NewMessages()
				s := collectortest.CloseAtEnd(t, loginServer(&collector.Server{Logger: slog.New(log)}))
				agent := newKnowingAgent()
				collectortest.Add(t, s, agent)
				g := collectortest.Dial(t, s)
				g.Receive()
				began := time.Now()
				for i, p := range test.say {
					g.Send(p)
					if i == 0 {
						if h, _, err := g.Read(); h.Kind != pdu.KindAttr || err != nil {
							t.Fatalf("%v, %v", h.Kind, err)
						}
					}
				}
				if got, want := g.Receive(), "error: "+test.want.Error(); got != want {
					t.Errorf("%s, want %s", got, want)
				}
				if took := time.Since(began); (took >= 10*time.Second) != (test.want == pdu.ErrTimeout) {
					t.Errorf("after %v", took)
				}
				if got := log.Take(); len(got) != 1 || !strings.HasPrefix(got[0], test.log) {
					t.Errorf("logged %q, want %q", got, test.log)
				}
				for _, p := range []pdu.PDU{describe, pdu.Fetch{PMIDs: []pdu.PMID{describe.PMID}}, collectortest.Storing(describe.PMID)} {
					if got := g.Code(p); got != pdu.ErrPermission {
						t.Errorf("%v afterwards: %v", p.Kind(), got)
					}
				}
				g.Send(helloPDU)
				if got := g.Code(describe); got != 0 {
					t.Errorf("after other CREDS: %v", got)
				}
				if got := agent.take(); len(got) != 1 || !strings.Contains(got[0], `user ""`) {
					t.Errorf("the agent was told %q", got)
				}
			})
		})
	}
}

// TestMechanismsOffered checks that a password does not cross an insecure connection, and that
// only the mechanisms of the Server are offered.
func TestMechanismsOffered(t *testing.T) {
	for _, test := range []struct {
		mechanisms []string
		local, tcp string
	}{
		{nil, "PLAIN LOGIN SCRAM-SHA-256", "SCRAM-SHA-256"},
		{[]string{"scram-sha-256", "Plain", "digest-md5"}, "PLAIN SCRAM-SHA-256", "SCRAM-SHA-256"},
		{[]string{"plain"}, "PLAIN", ""},
		{[]string{}, "", ""},
	} {
		s := loginServer(&collector.Server{Mechanisms: test.mechanisms, Logger: slog.New(slog.DiscardHandler)})
		addr := collectortest.ServeTCP(t, s)
		for g, want := range map[*collectortest.Client]string{collectortest.Dial(t, s): test.local, collectortest.DialTCP(t, addr): test.tcp} {
			g.Receive()
			g.Send(creds(pdu.FeatureAuth))
			h, body, err := g.Read()
			var p pdu.Attr
			if want == "" {
				var status pdu.Status
				if h.Kind != pdu.KindError || status.Decode(body) != nil || status.Code != sasl.ErrNoMechanism {
					t.Errorf("%q: got %v %x, %v", test.mechanisms, h.Kind, body, err)
				}
			} else if h.Kind != pdu.KindAttr || p.Decode(body) != nil || string(p.Value) != want {
				t.Errorf("%q: got %v %q, want %q", test.mechanisms, h.Kind, body, want)
			}
		}
	}
	s := loginServer(&collector.Server{Logger: slog.New(slog.DiscardHandler)})
	g := collectortest.DialTCP(t, collectortest.ServeTCP(t, s))
	g.Receive()
	if got := logIn(t, g, "PLAIN", "root", "secret"); got != "" {
		t.Errorf("PLAIN: %s", got)
	}
	if got := g.Code(describe); got != sasl.ErrNoMechanism {
		t.Errorf("PLAIN in the clear: %v", got)
	}
}

// TestLoginIdentity checks the identity that agents receive. The latest login replaces all
// attributes of the previous one. A failed login restores the identity that the client had when
// it connected.
func TestLoginIdentity(t *testing.T) {
	agent := newKnowingAgent()
	s := loginServer(&collector.Server{Logger: slog.New(slog.DiscardHandler)})
	collectortest.Add(t, s, agent)
	addr := collectortest.ServeTCP(t, s)
	own := fmt.Sprintf("uid %d gid %d", os.Getuid(), os.Getgid())
	for _, test := range []struct {
		name     string
		g        *collectortest.Client
		anybody  string // before a login, and after a failed one
		announce bool   // also without a login
	}{
		{"TCP", collectortest.DialTCP(t, addr), "uid -1 gid -1", false},
		{"in process", collectortest.Dial(t, s), own, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := test.g
			g.Receive()
			told := func(want ...string) {
				t.Helper()
				g.Code(describe) // after the reply the agent has the identity
				if diff := cmp.Diff(want, agent.take()); diff != "" {
					t.Errorf("told (-want +got):\n%s", diff)
				}
			}
			step := func(user, password, want string) {
				t.Helper()
				if got := logIn(t, g, "SCRAM-SHA-256", user, password); got != want {
					t.Errorf("%s: %q, want %q", user, got, want)
				}
			}
			step("root", "secret", "")
			told(`uid 0 gid 0 user "root" container ""`)
			step("pcp", "secret", "")
			told(`uid 999 gid 995 user "pcp" container ""`)
			step("joe", "secret", "")
			told(`uid -1 gid -1 user "joe" container ""`)
			step("root", "secret", "")
			told(`uid 0 gid 0 user "root" container ""`)
			step("root", "bad", sasl.ErrAuth.Error())
			told(test.anybody + ` user "" container ""`)
			if got := g.Code(describe); got != pdu.ErrPermission {
				t.Errorf("after a failure: %v", got)
			}
			g.Send(creds(pdu.FeatureContainer), container("web"))
			told(test.anybody + ` user "" container "web"`)
			if got := g.Code(describe); got != 0 {
				t.Errorf("after other CREDS: %v", got)
			}
		})
	}
}

// TestCredsRequired checks that with CredsRequired only clients whose user is known are served.
func TestCredsRequired(t *testing.T) {
	s := loginServer(&collector.Server{CredsRequired: true, Logger: slog.New(slog.DiscardHandler)})
	collectortest.Add(t, s, &collectortest.Agent{Name: "a", Domain: 10})
	addr := collectortest.ServeTCP(t, s)
	dial := func() *collectortest.Client {
		g := collectortest.DialTCP(t, addr)
		if got := g.Receive(); got != "challenge 0xe4c" {
			t.Error(got)
		}
		return g
	}
	g := dial()
	g.Send(helloPDU)
	for range 2 { // for the CREDS and for the request
		if got := g.Code(describe); got != pdu.ErrPermission {
			t.Errorf("without a login: %v", got)
		}
	}
	g = dial()
	g.Send(creds(0x20))
	for range 2 {
		if got := g.Code(describe); got != pdu.ErrIPC && got != pdu.ErrPermission {
			t.Errorf("with features that there are not: %v", got)
		}
	}
	g = dial()
	if got := logIn(t, g, "SCRAM-SHA-256", "joe", "secret"); got != "" || g.Code(describe) != pdu.ErrPermission || g.Code(describe) != pdu.ErrPermission {
		t.Errorf("a user without an account: %q", got)
	}
	// This is the reply to describe.
	if got := logIn(t, g, "SCRAM-SHA-256", "pcp", "secret"); got == pdu.ErrPermission.Error() {
		g.Read()
	}
	g = dial()
	g.Send(creds(pdu.FeatureCredsRequired))
	if h, _, err := g.Read(); h.Kind != pdu.KindAttr || err != nil {
		t.Errorf("CREDS_REQD starts no login but %v, %v", h.Kind, err)
	}
	g.Send(message("SCRAM-SHA-256"))
	g.Read()
	g.Send(message(""))
	if h, _, err := g.Read(); h.Kind != pdu.KindError || err != nil {
		t.Errorf("an empty first message: %v, %v", h.Kind, err)
	}
	g = dial()
	if got := logIn(t, g, "SCRAM-SHA-256", "pcp", "secret"); got != "" || g.Code(describe) != 0 {
		t.Errorf("a user: %q", got)
	}
	local := collectortest.Dial(t, s).Hello()
	if got := local.Code(describe); got != 0 {
		t.Errorf("a client in this process: %v", got)
	}
	if got := collectortest.Connect(t, s).Code(describe); got != 0 {
		t.Errorf("a client of whom the user is known: %v", got)
	}
}

// TestSlowLogin checks that a slow login delays neither other clients nor Server.Close.
func TestSlowLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := loginServer(&collector.Server{Logger: slog.New(slog.DiscardHandler)})
		collectortest.Add(t, s, &collectortest.Agent{Name: "a", Domain: 10})
		slow := collectortest.Dial(t, s)
		slow.Receive()
		slow.Send(creds(pdu.FeatureAuth))
		slow.Read()
		began := time.Now()
		if got := collectortest.Connect(t, s).Code(describe); got != 0 {
			t.Error(got)
		}
		go io.Copy(io.Discard, slow.Net)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("took %v", took)
		}
	})
}

// accountRules parses access rules about the accounts of TestMain.
func accountRules(t *testing.T, statements string) *pmcdconf.Access {
	t.Helper()
	conf, err := pmcdconf.Parse("f", strings.NewReader("[access]\n"+statements))
	if err != nil {
		t.Fatal(err)
	}
	return conf.Access
}

// TestAccountRules checks the access rules for users and groups with clients that have logged in.
func TestAccountRules(t *testing.T) {
	const (
		users     = "disallow user * : all; allow user root : all; allow user pcp : fetch; disallow user pcp : store;"
		rules     = "the access rules for users and groups deny all operations"
		noAccount = "the user has no account on this computer"
		groups    = "disallow group * : all; allow group pcp : all; disallow group nogroup : store; allow group daemon : maximum 1 connections;"
	)
	for _, test := range []struct {
		rules, user  string
		fetch, store bool
		denial       string // in the log
	}{
		{users, "root", true, true, ""},
		{users, "pcp", true, false, ""},
		{users, "daemon", false, false, rules},
		{users, "joe", false, false, noAccount},
		{groups, "root", false, false, rules},
		{groups, "pcp", true, true, ""},
		{groups, "daemon", true, true, ""},
		{groups, "joe", false, false, noAccount},
		{"disallow group wheel : store;", "pcp", true, false, ""}, // by membership
		{"allow user * : all;", "joe", false, false, noAccount},   // rules need an account
		{"allow user * : all;", "daemon", true, true, ""},
		{"disallow .* : store; allow user pcp : all;", "pcp", true, false, ""}, // both apply
		{"disallow .* : store;", "joe", true, false, ""},
		{"disallow .* : fetch; disallow user daemon : store;", "daemon", false, false, "the access rules for the client's host and for its user together deny all operations"},
	} {
		t.Run(test.user+" "+test.rules, func(t *testing.T) {
			log := new(pcptest.LogBuffer)
			s := loginServer(&collector.Server{Logger: slog.New(slog.NewTextHandler(log, nil)), Access: accountRules(t, test.rules)})
			collectortest.Add(t, s, &collectortest.Agent{Name: "a", Domain: 10})
			g := collectortest.DialTCP(t, collectortest.ServeTCP(t, s))
			g.Receive()
			if got := logIn(t, g, "SCRAM-SHA-256", test.user, "secret"); got != "" {
				t.Fatal(got)
			}
			if !test.fetch && !test.store && !strings.HasPrefix(test.rules, "disallow .*") {
				if got := g.Code(describe); got != pdu.ErrPermission { // the reply to the CREDS
					t.Errorf("CREDS: %v", got)
				}
			}
			may := func(p pdu.PDU) bool { return g.Code(p) != pdu.ErrPermission }
			if got := may(pdu.Fetch{PMIDs: []pdu.PMID{describe.PMID}}); got != test.fetch {
				t.Errorf("fetch: %v", got)
			}
			if got := may(collectortest.Storing(describe.PMID)); got != test.store {
				t.Errorf("store: %v", got)
			}
			denied, text := test.denial != "", log.String()
			if strings.Contains(text, "client may do nothing") != denied || denied && !strings.Contains(text, fmt.Sprintf("nothing: %s\" user=%s ", test.denial, test.user)) {
				t.Errorf("log, want %q:\n%s", test.denial, text)
			}
		})
	}
}

// usersHook is a set of users that calls a function in the middle of a login.
type usersHook struct {
	sasl.Users
	hook func()
}

func (u usersHook) Verifier(name string) (sasl.Verifier, error) {
	u.hook()
	return u.Users.Verifier(name)
}

// TestAccessChangesInLogin checks that account rules that change during a login apply to the new
// user, not to the previous one.
func TestAccessChangesInLogin(t *testing.T) {
	for user, want := range map[string]pdu.Error{"root": 0, "pcp": pdu.ErrPermission} {
		s := &collector.Server{Logger: slog.New(slog.DiscardHandler), LookupAccount: lookupAccount}
		s.Users = usersHook{loginUsers(), func() { s.SetAccess(accountRules(t, "disallow user * : all; allow user root : all;")) }}
		collectortest.Add(t, s, &collectortest.Agent{Name: "a", Domain: 10})
		g := collectortest.DialTCP(t, collectortest.ServeTCP(t, s))
		g.Receive()
		if got := logIn(t, g, "SCRAM-SHA-256", user, "secret"); got != "" {
			t.Fatalf("%s: %s", user, got)
		}
		if got := g.Code(describe); got != want { // for pcp, the reply to the CREDS
			t.Errorf("%s: %v, want %v", user, got, want)
		}
	}
}

// TestFailedLogins checks that a client is disconnected after a few failed logins.
func TestFailedLogins(t *testing.T) {
	s := loginServer(&collector.Server{Logger: slog.New(slog.DiscardHandler)})
	collectortest.Add(t, s, &collectortest.Agent{Name: "a", Domain: 10})
	addr := collectortest.ServeTCP(t, s)
	g := collectortest.DialTCP(t, addr)
	g.Receive()
	for range 5 {
		if got := logIn(t, g, "SCRAM-SHA-256", "root", "bad"); got != sasl.ErrAuth.Error() {
			t.Fatal(got)
		}
	}
	if _, _, err := g.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("after 5 failures: %v", err)
	}
	other := collectortest.DialTCP(t, addr) // other clients are not locked out
	other.Receive()
	if got := logIn(t, other, "SCRAM-SHA-256", "root", "secret"); got != "" {
		t.Error(got)
	}
	if got := other.Code(describe); got != 0 {
		t.Error(got)
	}
}

// TestFailedLoginsOfAddress checks that failed logins count for the user at the address, so that
// a new connection does not help. Other users at the address, such as those behind the same
// gateway, are not locked out.
func TestFailedLoginsOfAddress(t *testing.T) {
	s := loginServer(&collector.Server{Logger: slog.New(slog.DiscardHandler), Limits: pmcdconf.Limits{Logins: 3}})
	collectortest.Add(t, s, &collectortest.Agent{Name: "a", Domain: 10})
	addr := collectortest.ServeTCP(t, s)
	for i, c := range []struct{ user, password, want string }{
		{"root", "bad", sasl.ErrAuth.Error()},
		{"root", "secret", ""}, // a successful login does not count
		{"root", "bad", sasl.ErrAuth.Error()},
		{"root", "bad", sasl.ErrAuth.Error()},
		{"root", "bad", pdu.ErrAgain.Error()},
		{"root", "secret", pdu.ErrAgain.Error()},
		{"daemon", "secret", ""},
	} {
		g := collectortest.DialTCP(t, addr)
		g.Receive()
		if got := logIn(t, g, "SCRAM-SHA-256", c.user, c.password); got != c.want {
			t.Errorf("login %d: %q, want %q", i, got, c.want)
		}
	}
}

// TestAccountLimits checks that a connection counts for its logged-in user until it ends or the
// client starts another login.
func TestAccountLimits(t *testing.T) {
	s := loginServer(&collector.Server{Logger: slog.New(slog.DiscardHandler), Access: accountRules(t, "allow user * : all; allow group daemon : maximum 1 connections;")})
	collectortest.Add(t, s, &collectortest.Agent{Name: "a", Domain: 10})
	addr := collectortest.ServeTCP(t, s)
	as := func(g *collectortest.Client, user, password string) pdu.Error {
		t.Helper()
		if got := logIn(t, g, "SCRAM-SHA-256", user, password); got != "" {
			return sasl.ErrAuth
		}
		code := g.Code(describe)
		if code != 0 {
			g.Read() // the reply to describe
		}
		return code
	}
	dial := func() *collectortest.Client {
		g := collectortest.DialTCP(t, addr)
		g.Receive()
		return g
	}
	one, two := dial(), dial()
	for i, step := range []struct {
		g              *collectortest.Client
		user, password string
		want           pdu.Error
	}{
		{one, "daemon", "secret", 0},
		{two, "daemon", "secret", pdu.ErrConnLimit},
		{one, "daemon", "secret", 0}, // again, and counts once
		{one, "root", "secret", pdu.ErrPermission},
		{two, "daemon", "secret", 0},
		{two, "daemon", "bad", sasl.ErrAuth},
		{one, "daemon", "secret", 0},
	} {
		if got := as(step.g, step.user, step.password); got != step.want {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
	}
	one.Net.Close()
	collectortest.Eventually(t, "the connection is given back", func() bool { return as(two, "daemon", "secret") == 0 })
}

// A oneListener is a listener with one connection.
type oneListener struct{ conns chan net.Conn }

func (l oneListener) Accept() (net.Conn, error) {
	c, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (l oneListener) Close() error   { return nil }
func (l oneListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// FuzzLogin sends arbitrary bytes instead of a login. No client gets in without the password. A
// client that breaks the protocol gets an error or is disconnected.
func FuzzLogin(f *testing.F) {
	attr := func(text string) []byte {
		b := append([]byte{0, 0, 0, byte(16 + len(text)), 0, 0, 0x70, 0x11}, make([]byte, 8)...)
		return append(b, text...)
	}
	f.Add(attr("SCRAM-SHA-256\x00n,a=root,n=root,r=sw+eVnsDLqz0E9US0V5VX+lM3afpsdzc"))
	f.Add(append(attr("SCRAM-SHA-256\x00n,,n=root,r=x"), attr("c=biws,r=x,p=AAAA")...))
	f.Add(attr("PLAIN\x00root\x00root\x00secret"))
	f.Add(append(attr("SCRAM-SHA-256"), attr("")...))
	f.Add([]byte{0, 0, 0, 16, 0, 0, 0x70, 0, 0, 0, 0, 0, 0xff, 0xff, 0xac, 0x93})
	f.Add([]byte{0, 0, 0, 20, 0, 0, 0x70, 0x0c, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 0, 0x48})
	s := loginServer(&collector.Server{CredsRequired: true, Logger: slog.New(slog.DiscardHandler)})
	s.Add(&collectortest.Agent{Name: "a", Domain: 10})
	conns := make(chan net.Conn)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- s.Serve(ctx, oneListener{conns}) }()
	f.Cleanup(func() { cancel(); close(conns); <-served })
	f.Fuzz(func(t *testing.T, sent []byte) {
		near, far := net.Pipe()
		conns <- far
		c := pdu.NewConn(near)
		if _, err := pdu.ClientHello(c, 1, pdu.FeatureAuth); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				h, body, err := c.Read()
				if err != nil {
					return
				}
				var status pdu.Status
				if h.Kind != pdu.KindAttr && (h.Kind != pdu.KindError || status.Decode(body) != nil || status.Code >= 0) {
					t.Errorf("got %v %x", h.Kind, body)
				}
			}
		}()
		near.SetWriteDeadline(time.Now().Add(time.Minute))
		near.Write(sent)
		near.Write([]byte{0, 0, 0, 16, 0, 0, 0x70, 4, 0, 0, 0, 0, 0x02, 0x80, 0, 1})
		near.Close()
		<-done
	})
}
