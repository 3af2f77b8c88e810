package sasl

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strconv"
	"strings"
)

// newNonce makes a nonce of 32 characters, of 192 random bits.
func newNonce() string {
	b := make([]byte, 24)
	rand.Read(b)
	return base64.StdEncoding.EncodeToString(b)
}

// isNonce reports whether a text can be a nonce: printable characters without a comma.
func isNonce(s string) bool {
	for i := range len(s) {
		if s[i] < '!' || s[i] > '~' || s[i] == ',' {
			return false
		}
	}
	return s != ""
}

// escapeName returns a user name in the form of messages, and unescapeName reverses it. ok is
// false if s is not an escaped name.
var escapeName = strings.NewReplacer("=", "=3D", ",", "=2C").Replace

func unescapeName(s string) (name string, ok bool) {
	name = strings.NewReplacer("=2C", ",", "=3D", "=").Replace(s)
	return name, name != "" && strings.IndexByte(name, 0) < 0 && escapeName(name) == s
}

// A scramServer is the server's side of SCRAM-SHA-256.
type scramServer struct {
	users    Users
	newNonce func() string

	step     int
	name     string // from the client, not verified
	user     string // the logged-in user
	verifier Verifier
	gs2      string // the header of the client's first message
	nonce    string // the client's and ours
	messages string // the client's first, without the header, and our first
}

func newScramServer(u Users) Server { return &scramServer{users: u, newNonce: newNonce} }

func (s *scramServer) User() string { return s.user }

func (s *scramServer) Next(response []byte) (challenge []byte, done bool, err error) {
	if s.step == 0 && response == nil {
		return []byte{}, false, nil // there was no initial response
	}
	s.step++
	switch s.step {
	case 1:
		challenge, err = s.first(string(response))
		return challenge, false, err
	case 2:
		challenge, err = s.final(string(response))
		return challenge, false, err
	case 3:
		if len(response) != 0 {
			return nil, false, fail(ErrProtocol, "a response to the last message of SCRAM-SHA-256")
		}
		s.user = s.name
		return nil, true, nil
	}
	return nil, false, fail(ErrProtocol, "a response after the end of SCRAM-SHA-256")
}

// first answers the client's first message: FLAG,[a=AUTHZID],n=USER,r=NONCE[,EXTENSIONS].
func (s *scramServer) first(m string) ([]byte, error) {
	part := strings.SplitN(m, ",", 3)
	if len(part) < 3 {
		return nil, fail(ErrProtocol, "Invalid GS2 header in SCRAM input")
	}
	flag, authzid, bare := part[0], part[1], part[2]
	if flag != "n" && flag != "y" {
		return nil, fail(ErrProtocol, "Channel binding not supported by SCRAM-SHA-256")
	}
	s.gs2 = flag + "," + authzid + ","
	attr := strings.Split(bare, ",")
	if len(attr) < 2 || !strings.HasPrefix(attr[0], "n=") || !strings.HasPrefix(attr[1], "r=") {
		return nil, fail(ErrProtocol, "User name or nonce expected in SCRAM input")
	}
	user, ok := unescapeName(attr[0][2:])
	nonce := attr[1][2:]
	if !ok || !isNonce(nonce) {
		return nil, fail(ErrProtocol, "Invalid user name or nonce in SCRAM input")
	}
	if authzid != "" {
		name, ok := unescapeName(strings.TrimPrefix(authzid, "a="))
		if !ok || !strings.HasPrefix(authzid, "a=") {
			return nil, fail(ErrProtocol, "Invalid authorization identity in SCRAM input")
		}
		if name != user {
			return nil, errIdentity
		}
	}
	var err error
	if s.verifier, err = verifierOf(s.users, user); err != nil {
		return nil, err
	}
	if err := s.verifier.check(); err != nil {
		return nil, fail(errFail, err.Error())
	}
	s.name, s.nonce = user, nonce+s.newNonce()
	reply := "r=" + s.nonce + ",s=" + base64.StdEncoding.EncodeToString(s.verifier.salt) + ",i=" + strconv.Itoa(s.verifier.iterations)
	s.messages = bare + "," + reply
	return []byte(reply), nil
}

// final answers the client's final message: c=GS2HEADER,r=NONCE[,EXTENSIONS],p=PROOF.
func (s *scramServer) final(m string) ([]byte, error) {
	without, proof, ok := cutProof(m)
	attr := strings.Split(without, ",")
	if !ok || len(attr) < 2 {
		return nil, fail(ErrProtocol, "Invalid client final message in SCRAM input")
	}
	if attr[0] != "c="+base64.StdEncoding.EncodeToString([]byte(s.gs2)) {
		return nil, fail(ErrProtocol, "Channel binding mismatch in SCRAM input")
	}
	if subtle.ConstantTimeCompare([]byte(attr[1]), []byte("r="+s.nonce)) != 1 {
		return nil, fail(ErrProtocol, "Nonce mismatch in SCRAM input")
	}
	messages := s.messages + "," + without
	key := xor(proof, sign(s.verifier.storedKey[:], messages))
	stored := sha256.Sum256(key[:])
	if subtle.ConstantTimeCompare(stored[:], s.verifier.storedKey[:]) != 1 {
		return nil, fail(ErrAuth, "StoredKey mismatch")
	}
	sum := sign(s.verifier.serverKey[:], messages)
	return []byte("v=" + base64.StdEncoding.EncodeToString(sum[:])), nil
}

// cutProof cuts a client's final message before its last attribute, the proof.
func cutProof(m string) (without string, proof [sha256.Size]byte, ok bool) {
	i := strings.LastIndex(m, ",p=")
	if i < 0 {
		return "", proof, false
	}
	ok = decodeSum(m[i+len(",p="):], &proof)
	return m[:i], proof, ok
}

// decodeSum decodes a sum in base 64.
func decodeSum(text string, to *[sha256.Size]byte) bool {
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != len(to) {
		return false
	}
	copy(to[:], b)
	return true
}

func xor(a, b [sha256.Size]byte) (c [sha256.Size]byte) {
	subtle.XORBytes(c[:], a[:], b[:])
	return c
}
