//go:build !linux

package handover

// RunStarter returns false, because starters exist on Linux only, where pmdaroot does.
func RunStarter() (status int, is bool) { return 0, false }
