package pmdalinux

// addProcessors adds the metrics of what there is per processor, and of the machine.
func (l *linux) addProcessors() {}
