package archive

import (
	"time"
)

// What stands in place of a volume number in the labels of the other files.
const (
	VolumeMeta  = -1 // PM_LOG_VOL_META
	VolumeIndex = -2 // PM_LOG_VOL_TI
)

// FeatureQA is the one feature bit that is in use, in PCP's own tests.
const FeatureQA = 1 << 31

// A Label is the first record of every file of an archive. It is pmLogLabel and
// pmHighResLogLabel of the C library.
//
//	version 2, 132 bytes                       version 3, 808 bytes
//	  0  int32      132                          0  int32       808
//	  4  uint32     0x50052602                   4  uint32      0x50052603
//	  8  int32      PID                          8  int32       PID
//	 12  timeval    Start                       12  timestamp   Start
//	 20  int32      Volume                      24  int32       Volume
//	                                            28  uint32      Features
//	                                            32  uint32      0
//	 24  64 bytes   Host                        36  256 bytes   Host
//	 88  40 bytes   TimeZone                   292  256 bytes   TimeZone
//	                                           548  256 bytes   ZoneInfo
//	128  int32      132                        804  int32       808
//
// A timeval is int32 seconds and int32 microseconds. A timestamp is the low 32 bits of the
// seconds, then the high 32 bits, then int32 nanoseconds. Texts end with a NUL.
type Label struct {
	Version  int // 2 or 3
	PID      int32
	Start    time.Time // of recording
	Volume   int       // or VolumeMeta, VolumeIndex
	Features uint32    // 0 in version 2
	Host     string    // where the values are from
	TimeZone string    // of that host, as in $TZ
	ZoneInfo string    // of that host, such as ":Europe/Berlin"; "" in version 2
}
