package proxy

import "time"

// SetTimeouts is for tests outside of the package.
func (p *Proxy) SetTimeouts(greet, connect time.Duration) {
	p.greetTimeout, p.connectTimeout = greet, connect
}
