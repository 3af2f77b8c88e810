package collector_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/sasl"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
)

// selfSigned makes a certificate for 127.0.0.1, and the authorities that vouch for it. A program
// has them in files: see tls.LoadX509KeyPair.
func selfSigned() (tls.Certificate, *x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	authorities := x509.NewCertPool()
	authorities.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, authorities, nil
}

// A collector with a certificate encrypts the connections of clients that ask for it. This client
// insists, and verifies the certificate.
func ExampleServer_tls() {
	cert, authorities, err := selfSigned()
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	srv := &collector.Server{
		Hostname: "web1",
		TLS:      &tls.Config{Certificates: []tls.Certificate{cert}},
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error)
	go func() { served <- srv.Serve(ctx, ln) }()

	d := &pmapi.Dialer{TLS: &tls.Config{RootCAs: authorities}}
	c, err := d.Dial(ctx, "pcps://"+ln.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.HostName(ctx))
	c.Close()

	stop()
	fmt.Println(<-served)
	// Output:
	// web1
	// <nil>
}

// Clients log in as users of the collector, with a password that does not cross the network.
func ExampleServer_users() {
	verifier, err := sasl.NewVerifier("secret")
	if err != nil {
		fmt.Println(err)
		return
	}
	srv := &collector.Server{
		Hostname:      "web1",
		Users:         sasl.Map{"ann": verifier}, // or sasl.File{Path: "/etc/collector.users"}
		CredsRequired: true,
		// Users need no account of the system. Without LookupAccount they do.
		LookupAccount: func(user string) (uid, gid int, err error) { return 1000, 1000, nil },
		Logger:        slog.New(slog.DiscardHandler),
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error)
	go func() { served <- srv.Serve(ctx, ln) }()

	for _, login := range []string{"", "?user=ann&pass=guess", "?user=ann&pass=secret"} {
		c, err := pmapi.Dial(ctx, ln.Addr().String()+login)
		if err != nil {
			code, _ := errors.AsType[pdu.Error](err)
			fmt.Println(code)
			continue
		}
		fmt.Println(c.HostName(ctx))
		c.Close()
	}
	stop()
	fmt.Println(<-served)
	// Output:
	// Authentication - invalid parameter supplied
	// Authentication - authentication failure
	// web1
	// <nil>
}
