package sasl

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Users looks up the users of a server. Implementations must be safe for concurrent use.
type Users interface {
	// Verifier returns the verifier of a user. The error for an unknown user wraps ErrNoUser. The
	// client gets the code of such an error or of an *Error, and SASL_FAIL for others.
	Verifier(user string) (Verifier, error)
}

// verifierOf returns the verifier of a user. Its error is an *Error.
func verifierOf(u Users, user string) (Verifier, error) {
	v, err := u.Verifier(user)
	if err == nil {
		return v, nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return Verifier{}, e
	}
	if errors.Is(err, ErrNoUser) {
		return Verifier{}, fail(ErrNoUser, err.Error())
	}
	return Verifier{}, fail(errFail, err.Error())
}

// A Map is the verifiers of users by name. It must not change while a server uses it.
type Map map[string]Verifier

// Verifier returns the verifier of a user, or ErrNoUser.
func (m Map) Verifier(user string) (Verifier, error) {
	v, ok := m[user]
	if !ok {
		return Verifier{}, errUnknown
	}
	return v, nil
}

var errUnknown = fail(ErrNoUser, "unable to canonify user and get auxprops")

// A File is a file of users, one on each line: the name, a colon and a Verifier in the form of
// its method String. Empty lines and lines that begin with "#" are ignored.
//
//	# collector's users
//	ann:SCRAM-SHA-256$4096:W22Z…Q==$WG5d…Uo=:wfPL…8k=
//
// It may also be a database of the Cyrus library, as saslpasswd2 writes it, which contains the
// passwords in the clear. A user name without "@REALM" is in Realm then.
//
// The file is read at each login, so that a change takes effect at once. Protect it from being
// read by others.
type File struct {
	Path  string
	Realm string // empty means the name of the host
}

// maxFile is the greatest length of a file of users, in bytes.
const maxFile = 16 << 20

// Verifier returns the verifier of a user. Errors: ErrNoUser, also if the file cannot be read or is
// an unsupported database; SASL_FAIL if the user's line is malformed or any line before it is too
// long.
func (f File) Verifier(user string) (Verifier, error) {
	b, err := readUsers(f.Path)
	if err != nil {
		return Verifier{}, fail(ErrNoUser, err.Error())
	}
	if order, ok := isDB(b); ok {
		return f.findUser(b, order, user)
	}
	return findLine(f.Path, b, user)
}

// findUser finds a user in a database of the Cyrus library, and makes a verifier of the password.
func (f File) findUser(b []byte, order binary.ByteOrder, user string) (Verifier, error) {
	name, realm, ok := strings.Cut(user, "@")
	if realm = cmp.Or(realm, f.Realm); realm == "" && !ok {
		realm, _ = os.Hostname()
	}
	password, found, err := findDB(b, order, name+"\x00"+realm+"\x00userPassword")
	if err != nil {
		return Verifier{}, fail(ErrNoUser, fmt.Sprintf("%s: %v", f.Path, err))
	}
	if !found || strings.IndexByte(user, 0) >= 0 {
		return Verifier{}, errUnknown
	}
	return NewVerifier(string(password))
}

func readUsers(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s: longer than %d bytes", path, maxFile)
	}
	return b, err
}

// findLine finds the verifier of a user in a file of lines.
func findLine(path string, b []byte, user string) (Verifier, error) {
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		name, text, ok := strings.Cut(line, ":")
		if strings.HasPrefix(line, "#") || !ok || name != user {
			continue
		}
		v, err := ParseVerifier(text)
		if err != nil {
			return Verifier{}, fail(errFail, fmt.Sprintf("%s:%d: %v", path, n, err))
		}
		return v, nil
	}
	if err := lines.Err(); err != nil && !errors.Is(err, io.EOF) {
		return Verifier{}, fail(errFail, fmt.Sprintf("%s: %v", path, err))
	}
	return Verifier{}, errUnknown
}
