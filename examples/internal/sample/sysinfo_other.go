//go:build !linux

package sample

import "github.com/pcp-go/pcp/pdu"

// sysinfo has no value where there is no sysinfo(2).
func sysinfo() ([]byte, error) { return nil, pdu.ErrAppVersion }
