package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu/sasl"
)

// TestUnsupportedLogins checks that a configuration reports its unsupported settings, and whether
// any user can log in.
func TestUnsupportedLogins(t *testing.T) {
	for _, test := range []struct {
		conf sasl.Config
		want []string
	}{
		{sasl.Config{}, nil},
		{sasl.Config{Check: "auxprop", Mechanisms: []string{"plain", "LOGIN", "scram-sha-256"}}, nil},
		{sasl.Config{Check: "saslauthd"}, []string{
			"pwcheck_method: saslauthd: only auxprop is supported, so nobody can log in; users of auxprop are made by saslpasswd2 -a pmcd"}},
		{sasl.Config{Check: "saslauthd auxprop"}, []string{
			"pwcheck_method: saslauthd auxprop: only auxprop is supported, so the others are left out; users of auxprop are made by saslpasswd2 -a pmcd"}},
		{sasl.Config{Mechanisms: []string{"gssapi"}}, []string{"mech_list: gssapi: only scram-sha-256, plain and login are supported, so nobody can log in"}},
		{sasl.Config{Mechanisms: []string{"gssapi", "digest-md5", "plain"}}, []string{
			"mech_list: gssapi digest-md5: only scram-sha-256, plain and login are supported, so they are left out"}},
	} {
		if diff := cmp.Diff(test.want, unsupported(test.conf)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.conf, diff)
		}
	}
}
