//go:build !linux

package sample

import "github.com/pcp-go/pcp/pdu"

// sysinfo has no value on systems without sysinfo(2).
func sysinfo() ([]byte, error) { return nil, pdu.ErrAppVersion }
