//go:build !linux

package pmdalinux

import "errors"

// readIPCInfo fails: this is no Linux.
func readIPCInfo() (ipcInfo, error) { return ipcInfo{}, errors.ErrUnsupported }
