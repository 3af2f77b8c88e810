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

// A Verifier is what a server keeps in place of a password, to check whether a client knows it. A
// thief of a verifier can impersonate the server but cannot log in. To find the password he must
// compute thousands of hashes for each guess.
type Verifier struct {
	iterations           int
	salt                 []byte
	storedKey, serverKey [sha256.Size]byte
}

// Limits of verifiers.
const (
	defaultIterations = 4096    // the least that RFC 7677 allows
	maxIterations     = 1 << 20 // about half a second of work
	maxSalt           = 512
	saltLen           = 32
)

// NewVerifier returns a verifier of a password with a random salt and 4096 iterations.
func NewVerifier(password string) (Verifier, error) {
	salt := make([]byte, saltLen)
	rand.Read(salt)
	return makeVerifier(password, salt, defaultIterations)
}

// makeVerifier returns a verifier of a password. The salt has 1 to maxSalt bytes and belongs to
// this password alone. There are 1 to maxIterations iterations.
func makeVerifier(password string, salt []byte, iterations int) (Verifier, error) {
	v := Verifier{iterations: iterations, salt: salt}
	if err := v.check(); err != nil {
		return Verifier{}, err
	}
	_, stored, server, err := keys(password, salt, iterations)
	if err != nil {
		return Verifier{}, err
	}
	v.storedKey, v.serverKey = stored, server
	return v, nil
}

// check returns an error if v is invalid, as the zero Verifier is.
func (v *Verifier) check() error {
	switch {
	case v.iterations < 1 || v.iterations > maxIterations:
		return fmt.Errorf("sasl: %d iterations, want 1 to %d", v.iterations, maxIterations)
	case len(v.salt) == 0 || len(v.salt) > maxSalt:
		return fmt.Errorf("sasl: a salt of %d bytes, want 1 to %d", len(v.salt), maxSalt)
	}
	return nil
}

// keys derives the keys of RFC 5802 section 3 from a password.
func keys(password string, salt []byte, iterations int) (client, stored, server [sha256.Size]byte, err error) {
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		return client, stored, server, err
	}
	client = sign(salted, "Client Key")
	return client, sha256.Sum256(client[:]), sign(salted, "Server Key"), nil
}

// sign returns the HMAC-SHA-256 of text.
func sign(key []byte, text string) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	h.Sum(sum[:0])
	return sum
}

// Check reports whether a password is the right one. It compares in constant time.
func (v Verifier) Check(password string) bool {
	if v.check() != nil {
		return false
	}
	_, stored, _, err := keys(password, v.salt, v.iterations)
	return err == nil && subtle.ConstantTimeCompare(stored[:], v.storedKey[:]) == 1
}

const verifierScheme = "SCRAM-SHA-256"

// String returns the verifier in the form of RFC 5803:
// SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY, where the last three are in base 64.
func (v Verifier) String() string {
	b64 := base64.StdEncoding.EncodeToString
	return verifierScheme + "$" + strconv.Itoa(v.iterations) + ":" + b64(v.salt) + "$" + b64(v.storedKey[:]) + ":" + b64(v.serverKey[:])
}

var errVerifier = errors.New("sasl: no verifier, want SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY")

// ParseVerifier parses the result of String.
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
	v := Verifier{iterations: n}
	if v.salt, err = base64.StdEncoding.DecodeString(salt); err != nil {
		return Verifier{}, errVerifier
	}
	for _, k := range []struct {
		text string
		key  *[sha256.Size]byte
	}{{stored, &v.storedKey}, {server, &v.serverKey}} {
		b, err := base64.StdEncoding.DecodeString(k.text)
		if err != nil || len(b) != sha256.Size {
			return Verifier{}, errVerifier
		}
		copy(k.key[:], b)
	}
	return v, v.check()
}
