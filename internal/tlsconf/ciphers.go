package tlsconf

import (
	"crypto/tls"
	"errors"
	"slices"
	"strings"
)

// A cipher is a cipher suite up to TLS 1.2 that crypto/tls has, under OpenSSL's name, with the
// words that select it there.
type cipher struct {
	name  string
	id    uint16
	words string
}

var ciphers = []cipher{
	{"ECDHE-ECDSA-AES256-GCM-SHA384", tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, "ECDHE ECDSA AES256 AES AESGCM SHA384 TLSv1.2"},
	{"ECDHE-RSA-AES256-GCM-SHA384", tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, "ECDHE aRSA AES256 AES AESGCM SHA384 TLSv1.2"},
	{"ECDHE-ECDSA-CHACHA20-POLY1305", tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, "ECDHE ECDSA CHACHA20 TLSv1.2"},
	{"ECDHE-RSA-CHACHA20-POLY1305", tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, "ECDHE aRSA CHACHA20 TLSv1.2"},
	{"ECDHE-ECDSA-AES128-GCM-SHA256", tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, "ECDHE ECDSA AES128 AES AESGCM TLSv1.2"},
	{"ECDHE-RSA-AES128-GCM-SHA256", tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "ECDHE aRSA AES128 AES AESGCM TLSv1.2"},
	{"ECDHE-ECDSA-AES128-SHA256", tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256, "ECDHE ECDSA AES128 AES SHA256 TLSv1.2"},
	{"ECDHE-RSA-AES128-SHA256", tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256, "ECDHE aRSA AES128 AES SHA256 TLSv1.2"},
	{"ECDHE-ECDSA-AES256-SHA", tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA, "ECDHE ECDSA AES256 AES SHA1 SHA TLSv1.0"},
	{"ECDHE-RSA-AES256-SHA", tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA, "ECDHE aRSA AES256 AES SHA1 SHA TLSv1.0"},
	{"ECDHE-ECDSA-AES128-SHA", tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, "ECDHE ECDSA AES128 AES SHA1 SHA TLSv1.0"},
	{"ECDHE-RSA-AES128-SHA", tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, "ECDHE aRSA AES128 AES SHA1 SHA TLSv1.0"},
	{"AES256-GCM-SHA384", tls.TLS_RSA_WITH_AES_256_GCM_SHA384, "kRSA aRSA AES256 AES AESGCM SHA384 TLSv1.2"},
	{"AES128-GCM-SHA256", tls.TLS_RSA_WITH_AES_128_GCM_SHA256, "kRSA aRSA AES128 AES AESGCM TLSv1.2"},
	{"AES128-SHA256", tls.TLS_RSA_WITH_AES_128_CBC_SHA256, "kRSA aRSA AES128 AES SHA256 TLSv1.2"},
	{"AES256-SHA", tls.TLS_RSA_WITH_AES_256_CBC_SHA, "kRSA aRSA AES256 AES SHA1 SHA SSLv3"},
	{"AES128-SHA", tls.TLS_RSA_WITH_AES_128_CBC_SHA, "kRSA aRSA AES128 AES SHA1 SHA SSLv3"},
}

// Synonyms of the words of ciphers.
var cipherWords = map[string]string{
	"EECDH": "ECDHE", "kECDHE": "ECDHE", "kEECDH": "ECDHE", "aECDSA": "ECDSA", "RSA": "aRSA", "AES-GCM": "AESGCM", "TLSv1": "TLSv1.0",
}

// matches reports whether a word of a cipher list, or several with plus signs between them, selects
// a cipher.
func (c *cipher) matches(word string) bool {
	if word == c.name {
		return true
	}
	for w := range strings.SplitSeq(word, "+") {
		if s, ok := cipherWords[w]; ok {
			w = s
		}
		switch w {
		case "ALL", "HIGH", "DEFAULT":
		default:
			if !slices.Contains(strings.Fields(c.words), w) {
				return false
			}
		}
	}
	return true
}

// selectCiphers are the cipher suites of a list in OpenSSL's syntax. Their order does not matter to
// crypto/tls.
func selectCiphers(list string) []uint16 {
	var chosen []uint16
	killed := map[uint16]bool{}
	for word := range strings.FieldsFuncSeq(list, func(r rune) bool { return strings.ContainsRune(":,; ", r) }) {
		for i := range ciphers {
			c := &ciphers[i]
			at := slices.Index(chosen, c.id)
			switch rest := strings.TrimLeft(word, "!-+@"); {
			case !c.matches(rest), word[0] == '+', word[0] == '@':
			case word[0] == '!' || word[0] == '-':
				if at >= 0 {
					chosen = slices.Delete(chosen, at, at+1)
				}
				killed[c.id] = killed[c.id] || word[0] == '!'
			case at < 0 && !killed[c.id]:
				chosen = append(chosen, c.id)
			}
		}
	}
	return chosen
}

// otherCiphers begin the names of cipher suites that OpenSSL has and crypto/tls has not.
var otherCiphers = []string{"DHE-", "ECDHE-", "PSK-", "RSA-PSK-", "SRP-", "ADH-", "AECDH-", "AES", "CAMELLIA", "ARIA", "DES-", "NULL-", "CHACHA20"}

func hasOtherCiphers(list string) bool {
	return slices.ContainsFunc(strings.Split(list, ":"), func(word string) bool {
		return slices.ContainsFunc(otherCiphers, func(start string) bool { return strings.HasPrefix(word, start) })
	})
}

// suites13 are the cipher suites of TLS 1.3, and whether crypto/tls has them.
var suites13 = map[string]bool{
	"TLS_AES_128_GCM_SHA256": true, "TLS_AES_256_GCM_SHA384": true, "TLS_CHACHA20_POLY1305_SHA256": true,
	"TLS_AES_128_CCM_SHA256": false, "TLS_AES_128_CCM_8_SHA256": false,
}

var errNoCipher = errors.New("crypto/tls has none of them")

// setCiphers chooses the cipher suites. If crypto/tls lacks all selected suites up to TLS 1.2, only
// TLS 1.3 remains. crypto/tls does not let a program choose the suites of TLS 1.3; see Warnings.
func (c Conf) setCiphers(config *tls.Config) error {
	if c.Ciphers != "" {
		config.CipherSuites = selectCiphers(c.Ciphers)
		switch {
		case len(config.CipherSuites) > 0:
		case !hasOtherCiphers(c.Ciphers):
			return &Error{"Cannot set the cipher list from " + c.Ciphers, errNoCipher}
		default:
			config.MinVersion = tls.VersionTLS13
		}
	}
	if c.CipherSuites != "" && !slices.ContainsFunc(strings.Split(c.CipherSuites, ":"), func(s string) bool { return suites13[s] }) {
		return &Error{"Cannot set the cipher suites from " + c.CipherSuites, errNoCipher}
	}
	return nil
}

// Warnings describes settings that crypto/tls cannot follow.
func (c Conf) Warnings() []string {
	if c.CipherSuites == "" {
		return nil
	}
	given := strings.Split(c.CipherSuites, ":")
	for name, has := range suites13 {
		if has && !slices.Contains(given, name) {
			return []string{"tls-ciphersuites: all suites of TLS 1.3 are in use that crypto/tls has"}
		}
	}
	return nil
}
