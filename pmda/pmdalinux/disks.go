package pmdalinux

// addDisks adds the metrics of disks and partitions.
func (l *linux) addDisks() {}
