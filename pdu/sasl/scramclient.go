package sasl

import (
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// A scramClient is the client's side of SCRAM-SHA-256.
type scramClient struct {
	Credentials
	newNonce func() string

	step   int
	gs2    string // the header of the first message
	nonce  string
	bare   string // the first message without the header
	server []byte // the signature that the server's final message must have
}

func newScramClient(c Credentials) Client { return &scramClient{Credentials: c, newNonce: newNonce} }

func (c *scramClient) Done() bool { return c.step == 3 }

func (c *scramClient) Next(challenge []byte) ([]byte, error) {
	if c.step == 1 && len(challenge) == 0 {
		return []byte(c.gs2 + c.bare), nil // the server has not got an initial response
	}
	c.step++
	switch c.step {
	case 1:
		if c.User == "" {
			return nil, errNoUserName
		}
		name := escapeName(c.User)
		c.nonce = c.newNonce()
		c.gs2, c.bare = "n,a="+name+",", "n="+name+",r="+c.nonce
		return []byte(c.gs2 + c.bare), nil
	case 2:
		return c.final(string(challenge))
	case 3:
		return c.verify(string(challenge))
	}
	return nil, fail(ErrProtocol, "a challenge after the end of SCRAM-SHA-256")
}

// final answers the server's first message: r=NONCE,s=SALT,i=ITERATIONS[,EXTENSIONS].
func (c *scramClient) final(m string) ([]byte, error) {
	attr := strings.Split(m, ",")
	if len(attr) < 3 || !strings.HasPrefix(attr[0], "r=") || !strings.HasPrefix(attr[1], "s=") || !strings.HasPrefix(attr[2], "i=") {
		return nil, fail(ErrProtocol, "no nonce, salt and iteration count from the server")
	}
	nonce := attr[0][2:]
	if !isNonce(nonce) || !strings.HasPrefix(nonce, c.nonce) || len(nonce) == len(c.nonce) {
		return nil, fail(ErrProtocol, "the server's nonce does not go on from ours")
	}
	salt, err := base64.StdEncoding.DecodeString(attr[1][2:])
	if err != nil || len(salt) == 0 || len(salt) > maxSalt {
		return nil, fail(ErrProtocol, "the server's salt is malformed")
	}
	n, err := strconv.Atoi(attr[2][2:])
	if err != nil || n < defaultIterations || n > maxIterations {
		return nil, fail(ErrProtocol, fmt.Sprintf("the server wants %q iterations, not %d to %d", attr[2][2:], defaultIterations, maxIterations))
	}
	without := "c=" + base64.StdEncoding.EncodeToString([]byte(c.gs2)) + ",r=" + nonce
	messages := c.bare + "," + m + "," + without
	key, stored, server, err := keys(c.Password, salt, n)
	if err != nil {
		return nil, fail(errFail, err.Error())
	}
	proof := xor(key, sign(stored[:], messages))
	sum := sign(server[:], messages)
	c.server = sum[:]
	return []byte(without + ",p=" + base64.StdEncoding.EncodeToString(proof[:])), nil
}

// verify takes the server's final message: v=SIGNATURE[,EXTENSIONS] or e=ERROR.
func (c *scramClient) verify(m string) ([]byte, error) {
	v, _, _ := strings.Cut(m, ",")
	if strings.HasPrefix(v, "e=") {
		return nil, fail(ErrAuth, "the server says "+strconv.Quote(v[2:]))
	}
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(v, "v="))
	if !strings.HasPrefix(v, "v=") || err != nil {
		return nil, fail(ErrProtocol, "no signature from the server")
	}
	if subtle.ConstantTimeCompare(sum, c.server) != 1 {
		return nil, fail(ErrServer, "the server does not know the password")
	}
	return []byte{}, nil
}
