package pmdalinux

// addFilesystems adds the metrics of file systems.
func (l *linux) addFilesystems() {}
