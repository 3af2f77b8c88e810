//go:build !linux || mips || mipsle || mips64 || mips64le

package pdu

import "syscall"

// errnos pairs Linux's numbers with the local errno of the same name, for the
// names that every other system has.
var errnos = [...]struct {
	linux int32
	local syscall.Errno
}{
	{1, syscall.EPERM},
	{2, syscall.ENOENT},
	{3, syscall.ESRCH},
	{4, syscall.EINTR},
	{5, syscall.EIO},
	{6, syscall.ENXIO},
	{7, syscall.E2BIG},
	{8, syscall.ENOEXEC},
	{9, syscall.EBADF},
	{10, syscall.ECHILD},
	{11, syscall.EAGAIN},
	{12, syscall.ENOMEM},
	{13, syscall.EACCES},
	{14, syscall.EFAULT},
	{15, syscall.ENOTBLK},
	{16, syscall.EBUSY},
	{17, syscall.EEXIST},
	{18, syscall.EXDEV},
	{19, syscall.ENODEV},
	{20, syscall.ENOTDIR},
	{21, syscall.EISDIR},
	{22, syscall.EINVAL},
	{23, syscall.ENFILE},
	{24, syscall.EMFILE},
	{25, syscall.ENOTTY},
	{26, syscall.ETXTBSY},
	{27, syscall.EFBIG},
	{28, syscall.ENOSPC},
	{29, syscall.ESPIPE},
	{30, syscall.EROFS},
	{31, syscall.EMLINK},
	{32, syscall.EPIPE},
	{33, syscall.EDOM},
	{34, syscall.ERANGE},
	{35, syscall.EDEADLK},
	{36, syscall.ENAMETOOLONG},
	{37, syscall.ENOLCK},
	{38, syscall.ENOSYS},
	{39, syscall.ENOTEMPTY},
	{40, syscall.ELOOP},
	{42, syscall.ENOMSG},
	{43, syscall.EIDRM},
	{66, syscall.EREMOTE},
	{67, syscall.ENOLINK},
	{71, syscall.EPROTO},
	{72, syscall.EMULTIHOP},
	{74, syscall.EBADMSG},
	{75, syscall.EOVERFLOW},
	{84, syscall.EILSEQ},
	{87, syscall.EUSERS},
	{88, syscall.ENOTSOCK},
	{89, syscall.EDESTADDRREQ},
	{90, syscall.EMSGSIZE},
	{91, syscall.EPROTOTYPE},
	{92, syscall.ENOPROTOOPT},
	{93, syscall.EPROTONOSUPPORT},
	{94, syscall.ESOCKTNOSUPPORT},
	{95, syscall.EOPNOTSUPP},
	{95, syscall.ENOTSUP}, // differs from EOPNOTSUPP on some systems
	{96, syscall.EPFNOSUPPORT},
	{97, syscall.EAFNOSUPPORT},
	{98, syscall.EADDRINUSE},
	{99, syscall.EADDRNOTAVAIL},
	{100, syscall.ENETDOWN},
	{101, syscall.ENETUNREACH},
	{102, syscall.ENETRESET},
	{103, syscall.ECONNABORTED},
	{104, syscall.ECONNRESET},
	{105, syscall.ENOBUFS},
	{106, syscall.EISCONN},
	{107, syscall.ENOTCONN},
	{108, syscall.ESHUTDOWN},
	{109, syscall.ETOOMANYREFS},
	{110, syscall.ETIMEDOUT},
	{111, syscall.ECONNREFUSED},
	{112, syscall.EHOSTDOWN},
	{113, syscall.EHOSTUNREACH},
	{114, syscall.EALREADY},
	{115, syscall.EINPROGRESS},
	{116, syscall.ESTALE},
	{122, syscall.EDQUOT},
	{125, syscall.ECANCELED},
	{130, syscall.EOWNERDEAD},
	{131, syscall.ENOTRECOVERABLE},
}

// localErrno is the local errno for a Linux number.
func localErrno(n int) (syscall.Errno, bool) {
	for _, e := range errnos {
		if int(e.linux) == n {
			return e.local, true
		}
	}
	return 0, false
}

// linuxErrno returns the Linux number of a local errno, or 0 if it has no such number.
func linuxErrno(local syscall.Errno) int32 {
	for _, e := range errnos {
		if e.local == local {
			return e.linux
		}
	}
	return 0
}
