package sasl

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Verifier is what a server keeps of a password: what tells whether a client has it. Who gets to
// know a verifier can play the server, but not log in; and has to try passwords one by one, each
// for the time of as many hashes as there are iterations.
type Verifier struct {
	Iterations           int
	Salt                 []byte
	StoredKey, ServerKey [sha256.Size]byte
}

// Limits of verifiers.
const (
	DefaultIterations = 4096    // the least that RFC 7677 allows
	MaxIterations     = 1 << 20 // about half a second of work
	maxSalt           = 512
	saltLen           = 32
)

// NewVerifier makes a verifier of a password with a random salt, and the default number of
// iterations.
func NewVerifier(password string) (Verifier, error) {
	salt := make([]byte, saltLen)
	rand.Read(salt)
	return MakeVerifier(password, salt, DefaultIterations)
}

// MakeVerifier makes a verifier of a password, a salt of up to 512 bytes, which must be of this
// password alone, and a number of iterations from 1 to MaxIterations. Other arguments are an error.
func MakeVerifier(password string, salt []byte, iterations int) (Verifier, error) {
	v := Verifier{Iterations: iterations, Salt: salt}
	if err := v.check(); err != nil {
		return Verifier{}, err
	}
	_, stored, server, err := keys(password, salt, iterations)
	if err != nil {
		return Verifier{}, err
	}
	v.StoredKey, v.ServerKey = stored, server
	return v, nil
}

// check reports what cannot be in a verifier.
func (v *Verifier) check() error {
	switch {
	case v.Iterations < 1 || v.Iterations > MaxIterations:
		return fmt.Errorf("sasl: %d iterations, want 1 to %d", v.Iterations, MaxIterations)
	case len(v.Salt) == 0 || len(v.Salt) > maxSalt:
		return fmt.Errorf("sasl: a salt of %d bytes, want 1 to %d", len(v.Salt), maxSalt)
	}
	return nil
}

// keys are the keys of RFC 5802 section 3 that a password makes.
func keys(password string, salt []byte, iterations int) (client, stored, server [sha256.Size]byte, err error) {
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		return client, stored, server, err
	}
	client = sign(salted, "Client Key")
	return client, sha256.Sum256(client[:]), sign(salted, "Server Key"), nil
}

// sign is HMAC-SHA-256.
func sign(key []byte, text string) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	h.Sum(sum[:0])
	return sum
}

// Check reports whether a password is the right one. It takes as long for every password.
func (v Verifier) Check(password string) bool {
	if v.check() != nil {
		return false
	}
	_, stored, _, err := keys(password, v.Salt, v.Iterations)
	return err == nil && subtle.ConstantTimeCompare(stored[:], v.StoredKey[:]) == 1
}

const verifierScheme = "SCRAM-SHA-256"

// String is the verifier in the form of RFC 5803:
// SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY, where the last three are in base 64.
func (v Verifier) String() string {
	b64 := base64.StdEncoding.EncodeToString
	return verifierScheme + "$" + strconv.Itoa(v.Iterations) + ":" + b64(v.Salt) + "$" + b64(v.StoredKey[:]) + ":" + b64(v.ServerKey[:])
}

var errVerifier = errors.New("sasl: no verifier, want SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY")

// ParseVerifier reads what String has written.
func ParseVerifier(text string) (Verifier, error) {
	part := strings.Split(text, "$")
	if len(part) != 3 || part[0] != verifierScheme {
		return Verifier{}, errVerifier
	}
	count, salt, ok := strings.Cut(part[1], ":")
	stored, server, ok2 := strings.Cut(part[2], ":")
	n, err := strconv.Atoi(count)
	if !ok || !ok2 || err != nil {
		return Verifier{}, errVerifier
	}
	v := Verifier{Iterations: n}
	if v.Salt, err = base64.StdEncoding.DecodeString(salt); err != nil {
		return Verifier{}, errVerifier
	}
	for _, k := range []struct {
		text string
		key  *[sha256.Size]byte
	}{{stored, &v.StoredKey}, {server, &v.ServerKey}} {
		b, err := base64.StdEncoding.DecodeString(k.text)
		if err != nil || len(b) != sha256.Size {
			return Verifier{}, errVerifier
		}
		copy(k.key[:], b)
	}
	return v, v.check()
}
