package sasl

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

// users are root and joe with their passwords.
func users(t testing.TB) Map {
	t.Helper()
	m := Map{}
	for name, password := range map[string]string{"root": "secret", "joe,=": "pässword"} {
		v, err := NewVerifier(password)
		if err != nil {
			t.Fatal(err)
		}
		m[name] = v
	}
	return m
}

// logIn has a client and a server talk until both are done, or one fails.
func logIn(m Mechanism, u Users, c Credentials) (user string, err error) {
	client, server := m.NewClient(c), m.NewServer(u)
	response, err := client.Next(nil)
	for err == nil {
		challenge, done, err := server.Next(response)
		if err != nil || done {
			return server.User(), err
		}
		if response, err = client.Next(challenge); err != nil {
			return "", err
		}
	}
	return "", err
}

func TestMechanisms(t *testing.T) {
	u := users(t)
	for _, m := range Mechanisms() {
		for _, test := range []struct {
			user, password string
			want           pdu.Error
		}{
			{"root", "secret", 0},
			{"joe,=", "pässword", 0},
			{"root", "Secret", ErrAuth},
			{"root", "", ErrAuth},
			{"joe", "secret", ErrNoUser},
			{"", "secret", ErrParam},
		} {
			user, err := logIn(m, u, Credentials{test.user, test.password})
			if test.want != 0 && (user != "" || !errors.Is(err, test.want)) || test.want == 0 && (user != test.user || err != nil) {
				t.Errorf("%s as %q with %q: %q, %v", m.Name, test.user, test.password, user, err)
			}
		}
	}
}

// A step is a message of the client and the reply of the server: a challenge, "done", or the text
// of an error.
type step struct{ say, want string }

// say sends messages to a server; "-" stands for no initial response.
func say(t *testing.T, s Server, steps []step) {
	t.Helper()
	for i, st := range steps {
		message := []byte(st.say)
		if st.say == "-" {
			message = nil
		}
		challenge, done, err := s.Next(message)
		got := "> " + string(challenge)
		switch {
		case err != nil:
			if _, ok := err.(*Error); !ok {
				t.Errorf("step %d: error %#v", i, err)
			}
			got = err.Error()
		case done:
			got = "done " + s.User()
		}
		if got != st.want {
			t.Fatalf("step %d, %q: got %q, want %q", i, st.say, got, st.want)
		}
		if !done && s.User() != "" {
			t.Errorf("step %d: user %q before the end", i, s.User())
		}
	}
}

func TestPlainServer(t *testing.T) {
	const (
		badProtocol = "Authentication - bad protocol / cancel: "
		badAuth     = "Authentication - authentication failure: "
	)
	u := users(t)
	for name, steps := range map[string][]step{
		"with authzid":     {{"root\x00root\x00secret", "done root"}},
		"without authzid":  {{"\x00root\x00secret", "done root"}},
		"later":            {{"-", "> "}, {"\x00root\x00secret", "done root"}},
		"empty":            {{"", badProtocol + "Can only find author (no password)"}},
		"one part":         {{"root", badProtocol + "Can only find author (no password)"}},
		"two parts":        {{"\x00root", badProtocol + "Can only find author/en (no password)"}},
		"four parts":       {{"\x00root\x00sec\x00ret", badProtocol + "Got more data than we were expecting in the PLAIN plugin"}},
		"another identity": {{"pcp\x00root\x00secret", badAuth + "Requested identity not authenticated identity"}},
		"wrong password":   {{"root\x00root\x00bad", badAuth + "Password verification failed"}},
		"unknown user":     {{"\x00bob\x00bad", "Authentication - user not found: unable to canonify user and get auxprops"}},
		"no user":          {{"\x00\x00bad", "Authentication - invalid parameter supplied: no user name"}},
	} {
		t.Run(name, func(t *testing.T) { say(t, newPlainServer(u), steps) })
	}
}

func TestLoginServer(t *testing.T) {
	u := users(t)
	for name, steps := range map[string][]step{
		"empty response":   {{"", "> Username:"}, {"root", "> Password:"}, {"secret", "done root"}},
		"no response":      {{"-", "> Username:"}, {"root", "> Password:"}, {"secret", "done root"}},
		"initial response": {{"root", "Authentication - bad protocol / cancel: an initial response to LOGIN"}},
		"no user":          {{"-", "> Username:"}, {"", "Authentication - invalid parameter supplied: no user name"}},
		"after the end": {{"-", "> Username:"}, {"root", "> Password:"}, {"secret", "done root"},
			{"x", "Authentication - bad protocol / cancel: a response after the end of LOGIN"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLoginServer(u)
			if name == "after the end" {
				s = &unnamed{s}
				steps[2].want = "done "
			}
			say(t, s, steps)
		})
	}
}

// unnamed is a Server that does not report the user.
type unnamed struct{ Server }

func (*unnamed) User() string { return "" }

// TestScramExample is the example of RFC 7677.
func TestScramExample(t *testing.T) {
	const clientNonce, serverNonce = "rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
	v, err := ParseVerifier("SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=")
	if err != nil || !v.Check("pencil") || v.Check("pencils") {
		t.Fatalf("the verifier: %v", err)
	}
	s := &scramServer{users: Map{"user": v}, newNonce: func() string { return serverNonce }}
	say(t, s, []step{
		{"n,,n=user,r=" + clientNonce, "> r=" + clientNonce + serverNonce + ",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"},
		{"c=biws,r=" + clientNonce + serverNonce + ",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=", "> v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="},
		{"", "done user"},
	})
}

// A login of pminfo to pmcd, both of PCP 6.0.3.
const (
	capturedNonces = "sw+eVnsDLqz0E9US0V5VX+lM3afpsdzcvWWfbGXVFQ19h69Iepkefs2SkRz82/PU"
	capturedSalt   = "DqJJZoXLanDBw0X8Xi9PJfABjOZWhoJwe+5bbCv1vX0="
	capturedFirst  = "n,a=root,n=root,r=sw+eVnsDLqz0E9US0V5VX+lM3afpsdzc"
	capturedReply  = "r=" + capturedNonces + ",s=" + capturedSalt + ",i=4096"
	capturedFinal  = "c=bixhPXJvb3Qs,r=" + capturedNonces + ",p=qCyZm7j48/VXjveyycVG6ABnrZS6jYS6ETRtOO+kTno="
	capturedLast   = "v=Zd2+jesDGfSsEHgOOUYCQoS+hC2ovpyw/KNCy1i4qI8="
)

func capturedServer(t testing.TB) *scramServer {
	t.Helper()
	salt := []byte("\x0e\xa2\x49\x66\x85\xcb\x6a\x70\xc1\xc3\x45\xfc\x5e\x2f\x4f\x25\xf0\x01\x8c\xe6\x56\x86\x82\x70\x7b\xee\x5b\x6c\x2b\xf5\xbd\x7d")
	v, err := makeVerifier("secret", salt, 4096)
	if err != nil {
		t.Fatal(err)
	}
	return &scramServer{users: Map{"root": v}, newNonce: func() string { return capturedNonces[32:] }}
}

func TestScramCapture(t *testing.T) {
	say(t, capturedServer(t), []step{{capturedFirst, "> " + capturedReply}, {capturedFinal, "> " + capturedLast}, {"", "done root"}})
	c := &scramClient{Credentials: Credentials{"root", "secret"}, newNonce: func() string { return capturedNonces[:32] }}
	for i, m := range []struct{ say, want string }{{"", capturedFirst}, {"", capturedFirst}, {capturedReply, capturedFinal}, {capturedLast, ""}} {
		if got, err := c.Next([]byte(m.say)); err != nil || string(got) != m.want || got == nil {
			t.Fatalf("message %d: %q, %v, want %q", i, got, err, m.want)
		}
	}
	if !c.Done() {
		t.Error("the client is not done")
	}
	if _, err := c.Next(nil); !errors.Is(err, ErrProtocol) {
		t.Errorf("after the end: %v", err)
	}
}

// TestScramServerRefuses sends invalid messages to the server.
func TestScramServerRefuses(t *testing.T) {
	nonces := "r=" + capturedNonces
	proof := ",p=qCyZm7j48/VXjveyycVG6ABnrZS6jYS6ETRtOO+kTno="
	for _, test := range []struct {
		name, first, final string
		code               pdu.Error
		reason             string
	}{
		{"empty", "", "", ErrProtocol, "Invalid GS2 header in SCRAM input"},
		{"no header", "n=root,r=x", "", ErrProtocol, "Invalid GS2 header in SCRAM input"},
		{"channel binding", "p=tls-unique,,n=root,r=x", "", ErrProtocol, "Channel binding not supported by SCRAM-SHA-256"},
		{"no nonce", "n,,n=root", "", ErrProtocol, "User name or nonce expected in SCRAM input"},
		{"mandatory extension", "n,,m=1,n=root,r=x", "", ErrProtocol, "User name or nonce expected in SCRAM input"},
		{"empty nonce", "n,,n=root,r=", "", ErrProtocol, "Invalid user name or nonce in SCRAM input"},
		{"nonce of controls", "n,,n=root,r=a\x01", "", ErrProtocol, "Invalid user name or nonce in SCRAM input"},
		{"bad escape", "n,,n=ro=2cot,r=x", "", ErrProtocol, "Invalid user name or nonce in SCRAM input"},
		{"no user", "n,,n=,r=x", "", ErrProtocol, "Invalid user name or nonce in SCRAM input"},
		{"no identity", "n,a=,n=root,r=x", "", ErrProtocol, "Invalid authorization identity in SCRAM input"},
		{"identity without a key", "n,root,n=root,r=x", "", ErrProtocol, "Invalid authorization identity in SCRAM input"},
		{"another identity", "n,a=pcp,n=root,r=x", "", ErrAuth, "Requested identity not authenticated identity"},
		{"unknown user", "n,,n=joe,r=x", "", ErrNoUser, "unable to canonify user and get auxprops"},

		{"no final", capturedFirst, "x", ErrProtocol, "Invalid client final message in SCRAM input"},
		{"no proof", capturedFirst, "c=bixhPXJvb3Qs," + nonces, ErrProtocol, "Invalid client final message in SCRAM input"},
		{"short proof", capturedFirst, "c=bixhPXJvb3Qs," + nonces + ",p=qCyZ", ErrProtocol, "Invalid client final message in SCRAM input"},
		{"only a proof", capturedFirst, "x" + proof, ErrProtocol, "Invalid client final message in SCRAM input"},
		{"another header", capturedFirst, "c=biws," + nonces + proof, ErrProtocol, "Channel binding mismatch in SCRAM input"},
		{"another nonce", capturedFirst, "c=bixhPXJvb3Qs,r=" + capturedNonces[:63] + "V" + proof, ErrProtocol, "Nonce mismatch in SCRAM input"},
		{"the client's nonce alone", capturedFirst, "c=bixhPXJvb3Qs,r=" + capturedNonces[:32] + proof, ErrProtocol, "Nonce mismatch in SCRAM input"},
		{"another proof", capturedFirst, "c=bixhPXJvb3Qs," + nonces + ",p=rCyZm7j48/VXjveyycVG6ABnrZS6jYS6ETRtOO+kTno=", ErrAuth, "StoredKey mismatch"},
		{"an extension that was not proved", capturedFirst, "c=bixhPXJvb3Qs," + nonces + ",x=1" + proof, ErrAuth, "StoredKey mismatch"},
	} {
		s := capturedServer(t)
		_, _, err := s.Next([]byte(test.first))
		if test.final != "" {
			if err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			_, _, err = s.Next([]byte(test.final))
		}
		e, ok := err.(*Error)
		if !ok || e.Code != test.code || e.Reason != test.reason || s.User() != "" {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	s := capturedServer(t)
	say(t, s, []step{{"-", "> "}, {capturedFirst, "> " + capturedReply}, {capturedFinal, "> " + capturedLast},
		{"x", "Authentication - bad protocol / cancel: a response to the last message of SCRAM-SHA-256"}})
}

// TestScramClientRefuses has servers that do not know the password, or that want to make the
// client work.
func TestScramClientRefuses(t *testing.T) {
	for _, test := range []struct {
		name, first, last string
		code              pdu.Error
	}{
		{"empty", "x", "", ErrProtocol},
		{"another nonce", "r=" + strings.Repeat("x", 64) + ",s=" + capturedSalt + ",i=4096", "", ErrProtocol},
		{"our nonce alone", "r=" + capturedNonces[:32] + ",s=" + capturedSalt + ",i=4096", "", ErrProtocol},
		{"no salt", "r=" + capturedNonces + ",s=,i=4096", "", ErrProtocol},
		{"bad salt", "r=" + capturedNonces + ",s=%,i=4096", "", ErrProtocol},
		{"few iterations", "r=" + capturedNonces + ",s=" + capturedSalt + ",i=1", "", ErrProtocol},
		{"many iterations", "r=" + capturedNonces + ",s=" + capturedSalt + ",i=2000000000", "", ErrProtocol},
		{"no number", "r=" + capturedNonces + ",s=" + capturedSalt + ",i=4096x", "", ErrProtocol},
		{"an error", capturedReply, "e=other-error", ErrAuth},
		{"no signature", capturedReply, "Zd2+", ErrProtocol},
		{"another signature", capturedReply, "v=ad2+jesDGfSsEHgOOUYCQoS+hC2ovpyw/KNCy1i4qI8=", ErrServer},
		{"an empty signature", capturedReply, "v=", ErrServer},
	} {
		c := &scramClient{Credentials: Credentials{"root", "secret"}, newNonce: func() string { return capturedNonces[:32] }}
		c.Next(nil)
		_, err := c.Next([]byte(test.first))
		if test.last != "" {
			if err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			_, err = c.Next([]byte(test.last))
		}
		if e, ok := err.(*Error); !ok || e.Code != test.code {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestChoose(t *testing.T) {
	for _, test := range []struct {
		offered string
		clear   bool
		want    string
	}{
		{"PLAIN LOGIN SCRAM-SHA-256", false, "SCRAM-SHA-256"},
		{"plain login scram-sha-256", true, "SCRAM-SHA-256"},
		{"PLAIN LOGIN", true, "PLAIN"},
		{"LOGIN", true, "LOGIN"},
		{"PLAIN LOGIN", false, ""},
		{"DIGEST-MD5 ANONYMOUS", true, ""},
		{"", true, ""},
	} {
		m, err := Choose(test.offered, test.clear)
		if m.Name != test.want || (err == nil) != (test.want != "") || err != nil && !errors.Is(err, ErrNoMechanism) {
			t.Errorf("%q: %q, %v", test.offered, m.Name, err)
		}
	}
}

func TestVerifier(t *testing.T) {
	v, err := NewVerifier("secret")
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseVerifier(v.String())
	if err != nil || back.String() != v.String() || !back.Check("secret") {
		t.Errorf("%s: read back as %s, %v", v, back, err)
	}
	if other, err := NewVerifier("secret"); err != nil || other.String() == v.String() {
		t.Error("two verifiers of a password are the same")
	}
	for _, text := range []string{"", "secret", "SCRAM-SHA-256$x:AA==$AA==:AA==", strings.Replace(v.String(), "256", "1", 1),
		strings.Replace(v.String(), "4096", "0", 1), strings.Replace(v.String(), "4096", "99999999", 1), strings.Replace(v.String(), ":", "", 1),
		v.String() + "$", v.String()[:len(v.String())-4]} {
		if _, err := ParseVerifier(text); err == nil {
			t.Errorf("%q is a verifier", text)
		}
	}
	if _, err := makeVerifier("x", nil, 4096); err == nil {
		t.Error("a verifier without a salt")
	}
	if (Verifier{}).Check("") {
		t.Error("the zero verifier is that of a password")
	}
}

func TestFile(t *testing.T) {
	v, err := NewVerifier("secret")
	if err != nil {
		t.Fatal(err)
	}
	f := File{Path: filepath.Join(t.TempDir(), "users")}
	if _, err := f.Verifier("ann"); !errors.Is(err, ErrNoUser) {
		t.Errorf("without the file: %v", err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(f.Path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# users\n\n#ann:x\nbob:" + v.String() + "\n bad : x\nbroken:x\nann:" + v.String() + "\r\n")
	for user, want := range map[string]pdu.Error{"ann": 0, "bob": 0, "broken": errFail, "joe": ErrNoUser, "#ann": ErrNoUser, "": ErrNoUser} {
		got, err := f.Verifier(user)
		if want == 0 && (err != nil || got.String() != v.String()) || want != 0 && !errors.Is(err, want) {
			t.Errorf("%q: %v, %v", user, got, err)
		}
	}
	write(strings.Repeat("x", 1<<20))
	if _, err := f.Verifier("ann"); !errors.Is(err, errFail) {
		t.Errorf("a long line: %v", err)
	}
}

// TestUsersErrors: errors of other implementations of Users have codes, too.
func TestUsersErrors(t *testing.T) {
	for _, test := range []struct {
		err  error
		want pdu.Error
	}{{errors.New("no directory"), errFail}, {ErrNoUser, ErrNoUser}, {fail(ErrAuth, "locked"), ErrAuth}} {
		for _, m := range Mechanisms() {
			if _, err := logIn(m, failing{test.err}, Credentials{"a", "b"}); !errors.Is(err, test.want) {
				t.Errorf("%s: %v: %v", m.Name, test.err, err)
			}
		}
	}
}

type failing struct{ err error }

func (f failing) Verifier(string) (Verifier, error) { return Verifier{}, f.err }

// FuzzServers sends messages to servers: no client logs in without the password, and a failed
// login names no user.
func FuzzServers(f *testing.F) {
	f.Add(uint8(2), capturedFirst, capturedFinal, "")
	f.Add(uint8(0), "root\x00root\x00bad", "", "")
	f.Add(uint8(1), "", "root", "bad")
	v, err := NewVerifier(newNonce())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, which uint8, a, b, c string) {
		s := mechanisms[int(which)%len(mechanisms)].NewServer(Map{"root": v})
		for _, m := range []string{a, b, c} {
			challenge, done, err := s.Next([]byte(m))
			if done || s.User() != "" {
				t.Fatalf("logged in as %q", s.User())
			}
			if err != nil {
				if _, ok := err.(*Error); !ok || challenge != nil {
					t.Fatalf("%q, %#v", challenge, err)
				}
				return
			}
		}
	})
}

// FuzzScramClient sends messages to a client: it believes no server that does not know the
// password.
func FuzzScramClient(f *testing.F) {
	f.Add(capturedReply, capturedLast)
	f.Add(capturedReply, "e=x")
	f.Fuzz(func(t *testing.T, first, last string) {
		c := &scramClient{Credentials: Credentials{"root", "other"}, newNonce: func() string { return capturedNonces[:32] }}
		c.Next(nil)
		if strings.Count(first, ",i=") > 0 && !strings.HasSuffix(first, ",i=4096") {
			return // which takes time
		}
		if _, err := c.Next([]byte(first)); err != nil {
			return
		}
		if len(first) > 0 {
			if _, err := c.Next([]byte(last)); err == nil {
				t.Fatal("believed")
			}
		}
	})
}
