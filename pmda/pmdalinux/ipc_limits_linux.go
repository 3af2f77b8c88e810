package pmdalinux

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// readIPCInfo reads the limits of semaphores and messages. The buffers correspond to struct seminfo
// and struct msginfo.
func readIPCInfo() (ipcInfo, error) {
	const info = 3 // IPC_INFO
	var sem struct{ semmap, semmni, semmns, semmnu, semmsl, semopm, semume, semusz, semvmx, semaem int32 }
	var msg struct {
		msgpool, msgmap, msgmax, msgmnb, msgmni, msgssz, msgtql int32
		msgseg                                                  uint16
	}
	if _, _, e := unix.Syscall6(unix.SYS_SEMCTL, 0, 0, info, uintptr(unsafe.Pointer(&sem)), 0, 0); e != 0 {
		return ipcInfo{}, e
	}
	if _, _, e := unix.Syscall(unix.SYS_MSGCTL, 0, info, uintptr(unsafe.Pointer(&msg))); e != 0 {
		return ipcInfo{}, e
	}
	return ipcInfo{
		semmap: sem.semmap, semmnu: sem.semmnu, semume: sem.semume, semusz: sem.semusz, semvmx: sem.semvmx, semaem: sem.semaem,
		msgpool: msg.msgpool, msgmap: msg.msgmap, msgssz: msg.msgssz, msgtql: msg.msgtql, msgseg: msg.msgseg,
	}, nil
}
