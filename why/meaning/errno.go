package meaning

import (
	"cmp"
	"maps"
	"strconv"
	"strings"
	"sync"

	"fettle/internal/lazy"
	"fettle/internal/sorted"
)

// Errnos are Linux's error numbers (errno(3), asm-generic/errno-base.h and errno.h) with the
// text that glibc prints for each (strerror(3)), and what that usually says to an admin.
var Errnos = map[int]struct{ Name, Text, Says string }{
	1: {"EPERM", "Operation not permitted",
		"a privilege is missing, whatever the file's mode says: root, a capability, or an immutable flag"},
	2: {"ENOENT", "No such file or directory",
		"the path, or a part of it, does not exist; of a program also: its interpreter or loader"},
	3:  {"ESRCH", "No such process", "there is no such process, or, of systemd's USER step, no such user"},
	4:  {"EINTR", "Interrupted system call", "a signal came in between"},
	5:  {"EIO", "Input/output error", "the device below reported an error; the kernel's log has the device's own words"},
	6:  {"ENXIO", "No such device or address", "nothing answers at this device or socket"},
	7:  {"E2BIG", "Argument list too long", "arguments and environment are larger than the kernel takes"},
	8:  {"ENOEXEC", "Exec format error", "not a program for this machine, or a script without its #! line"},
	9:  {"EBADF", "Bad file descriptor", "the file was closed already, or is not open for this"},
	10: {"ECHILD", "No child processes", "there is no child to wait for"},
	11: {"EAGAIN", "Resource temporarily unavailable",
		"nothing there right now, or a limit of processes, threads or locks is reached"},
	12: {"ENOMEM", "Cannot allocate memory", "memory, or the limit of it that applies here, is used up"},
	13: {"EACCES", "Permission denied",
		"mode, owner, ACL or a security module (SELinux, AppArmor) does not allow it, or a folder on the way does not"},
	14: {"EFAULT", "Bad address", "the program passed a wrong pointer"},
	15: {"ENOTBLK", "Block device required", "not a block device"},
	16: {"EBUSY", "Device or resource busy", "something else uses it: mounted, open, or held by another device"},
	17: {"EEXIST", "File exists", "it is there already"},
	18: {"EXDEV", "Invalid cross-device link", "source and target are on different file systems"},
	19: {"ENODEV", "No such device", "there is no such device, or no driver for it"},
	20: {"ENOTDIR", "Not a directory", "a part of the path is a file"},
	21: {"EISDIR", "Is a directory", "a file was expected"},
	22: {"EINVAL", "Invalid argument", "the kernel or program does not accept a value or option here"},
	23: {"ENFILE", "Too many open files in system", "the limit of open files of the whole system is reached (fs.file-max)"},
	24: {"EMFILE", "Too many open files",
		"the limit of open files of this process is reached (LimitNOFILE=), or, of inotify, that of instances " +
			"(fs.inotify.max_user_instances)"},
	25: {"ENOTTY", "Inappropriate ioctl for device", "the file is not a terminal or device of this kind"},
	26: {"ETXTBSY", "Text file busy", "the program is running and cannot be written to"},
	27: {"EFBIG", "File too large", "the file would exceed a limit of the file system or of the process"},
	28: {"ENOSPC", "No space left on device",
		"no room, no inodes or no quota left; of inotify: the limit of watches (fs.inotify.max_user_watches)"},
	29: {"ESPIPE", "Illegal seek", "a pipe or socket has no position"},
	30: {"EROFS", "Read-only file system", "mounted read-only: by its options, or by the kernel after an error"},
	31: {"EMLINK", "Too many links", "the file system's limit of links is reached"},
	32: {"EPIPE", "Broken pipe", "the other side closed the pipe or connection"},
	34: {"ERANGE", "Numerical result out of range", "a number is too large or too small"},
	35: {"EDEADLK", "Resource deadlock avoided", "two would wait for each other"},
	36: {"ENAMETOOLONG", "File name too long", "a name has more than 255 bytes, or a path more than 4096"},
	37: {"ENOLCK", "No locks available", "no locks left, or the NFS server's lock service does not answer"},
	38: {"ENOSYS", "Function not implemented", "the kernel, or a filter before it, does not have this call"},
	39: {"ENOTEMPTY", "Directory not empty", "the folder has entries"},
	40: {"ELOOP", "Too many levels of symbolic links", "symbolic links lead in a circle"},
	61: {"ENODATA", "No data available", "the attribute or data does not exist; of a disk: it could not be read"},
	62: {"ETIME", "Timer expired", "a timer ran out"},
	71: {"EPROTO", "Protocol error", "the other side, or a device, sent something unexpected"},
	74: {"EBADMSG", "Bad message", "a checksum or format does not match: of a file system, damaged metadata"},
	75: {"EOVERFLOW", "Value too large for defined data type", "a number does not fit, often in a 32-bit program"},
	84: {"EILSEQ", "Invalid or incomplete multibyte or wide character",
		"bytes that are no text in this encoding; of an SD card: a checksum error"},
	87:  {"EUSERS", "Too many users", "a limit of users is reached"},
	88:  {"ENOTSOCK", "Socket operation on non-socket", "not a socket"},
	90:  {"EMSGSIZE", "Message too long", "larger than the protocol or the MTU takes"},
	92:  {"ENOPROTOOPT", "Protocol not available", "the socket has no such option"},
	93:  {"EPROTONOSUPPORT", "Protocol not supported", "the kernel does not have this protocol, or its module is not loaded"},
	95:  {"EOPNOTSUPP", "Operation not supported", "the file system, device or kernel cannot do this"},
	97:  {"EAFNOSUPPORT", "Address family not supported by protocol", "the kernel does not have this family: IPv6 is often off"},
	98:  {"EADDRINUSE", "Address already in use", "another socket has this address and port; ss -ltnp shows which"},
	99:  {"EADDRNOTAVAIL", "Cannot assign requested address", "no interface of this host has this address now"},
	100: {"ENETDOWN", "Network is down", "the interface is down"},
	101: {"ENETUNREACH", "Network is unreachable", "no route leads there"},
	103: {"ECONNABORTED", "Software caused connection abort", "the connection was given up on this side"},
	104: {"ECONNRESET", "Connection reset by peer", "the other side, or something on the way, broke the connection off"},
	105: {"ENOBUFS", "No buffer space available", "the kernel has no room for this packet or message now"},
	107: {"ENOTCONN", "Transport endpoint is not connected", "not connected; of a FUSE mount: its program has died"},
	110: {"ETIMEDOUT", "Connection timed out",
		"no answer at all: filtered, wrong address, or the other side is down; of a device: it did not answer"},
	111: {"ECONNREFUSED", "Connection refused", "the host answers, and nothing listens at that port (or a firewall rejects it)"},
	112: {"EHOSTDOWN", "Host is down", "the host does not answer"},
	113: {"EHOSTUNREACH", "No route to host", "the host does not answer ARP, or a router or firewall says that it cannot be reached"},
	114: {"EALREADY", "Operation already in progress", "it was asked for already"},
	115: {"EINPROGRESS", "Operation now in progress", "it has begun and is not done"},
	116: {"ESTALE", "Stale file handle", "the file or export on the NFS server is not the one that was opened"},
	117: {"EUCLEAN", "Structure needs cleaning", "the file system found itself damaged: it needs a check (fsck, xfs_repair)"},
	121: {"EREMOTEIO", "Remote I/O error", "the device itself reported the error"},
	122: {"EDQUOT", "Disk quota exceeded", "the quota is used up"},
	123: {"ENOMEDIUM", "No medium found", "no medium in the drive"},
	125: {"ECANCELED", "Operation canceled", "it was cancelled"},
	126: {"ENOKEY", "Required key not available",
		"a key is missing: of a module, its signature is not accepted; of fscrypt, it is locked"},
	129: {"EKEYREJECTED", "Key was rejected by service", "a signature was not accepted: of a kernel module, often Secure Boot"},
}

const errnoSource = "errno(3)"

var (
	errnoNumber = lazy.Regexp(`(?i)\b(?:errno|error code|err|error|ret|retval|code)(?:[=: ]+| no\.? ?)-?(\d{1,3})\b|` +
		`\b(?:failed|returned|with error|status|failed with) -(\d{1,3})\b|\((\d{1,3}): [A-Z]`)
	// ssh's refusal of a login is worded as an errno, and is none.
	loginRefused = lazy.Regexp(`Permission denied(?: \((?:[a-z-]+,?)+\)|, please try again)`)
	errnoName    = lazy.Regexp(`\bE[A-Z0-9]{2,14}\b`)
	errnoTexts   = sync.OnceValue(func() []int {
		// "Too many open files in system" before "Too many open files"
		return sorted.Of(maps.Keys(Errnos), func(a, b int) int { return cmp.Compare(len(Errnos[b].Text), len(Errnos[a].Text)) })
	})
)

func errnos(text string) []Meaning {
	var out []Meaning
	say := func(term string, n int) {
		e := Errnos[n]
		out = append(out, Meaning{term, e.Name + ": " + e.Says, errnoSource})
	}
	for _, n := range errnoTexts() {
		if i := index(text, Errnos[n].Text); i >= 0 {
			if !loginRefused().MatchString(text) {
				say(text[i:i+len(Errnos[n].Text)], n)
			}
			break
		}
	}
	for _, name := range errnoName().FindAllString(text, most) {
		for n, e := range Errnos {
			if e.Name == name {
				say(name, n)
			}
		}
	}
	// A number alone is one of many codes: only the kernel and libraries print errno so.
	if len(out) > 0 {
		return out
	}
	for _, m := range errnoNumber().FindAllStringSubmatch(text, 1) {
		n, _ := strconv.Atoi(m[1] + m[2] + m[3])
		if e, ok := Errnos[n]; ok && (strings.Contains(strings.ToLower(m[0]), "errno") || strings.Contains(m[0], "-")) {
			out = append(out, Meaning{m[0], "if it is an errno, " + e.Name + " (" + e.Text + "): " + e.Says, errnoSource})
		}
	}
	return out
}

// index finds a text whatever its first letter's case: programs lower it.
func index(text, want string) int {
	if i := strings.Index(text, want); i >= 0 {
		return i
	}
	return strings.Index(text, strings.ToLower(want[:1])+want[1:])
}
