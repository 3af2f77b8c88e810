package pmapi

// Secure says whether connections are encrypted.
type Secure = secureMode

const (
	SecureOff     = secureOff
	SecureRelaxed = secureRelaxed
	SecureEnforce = secureEnforce
)

// SetSecure sets whether the connections of d are encrypted if their specification does not say.
func (d *Dialer) SetSecure(s Secure) { d.secure = s }

// SecureOf returns what SetSecure or the environment has set.
func SecureOf(d *Dialer) Secure { return d.secure }

// Defaults of a Dialer.
const (
	DefaultConnectTimeout = defaultConnectTimeout
	DefaultRequestTimeout = defaultRequestTimeout
)
