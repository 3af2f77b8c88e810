//go:build !linux

package pmdalinux

import "errors"

// readIPCInfo fails except on Linux.
func readIPCInfo() (ipcInfo, error) { return ipcInfo{}, errors.ErrUnsupported }
