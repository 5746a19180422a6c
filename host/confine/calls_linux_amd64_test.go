package confine

import "golang.org/x/sys/unix"

// legacyCalls are those that arm64 never had.
var legacyCalls = []call{
	{"open-write", unix.SYS_OPEN, args{bad, unix.O_WRONLY}}, {"creat", unix.SYS_CREAT, args{bad}},
	{"chmod", unix.SYS_CHMOD, args{bad}}, {"chown", unix.SYS_CHOWN, args{bad}}, {"lchown", unix.SYS_LCHOWN, args{bad}},
	{"utime", unix.SYS_UTIME, args{bad}}, {"utimes", unix.SYS_UTIMES, args{bad}}, {"futimesat", unix.SYS_FUTIMESAT, args{bad, bad}},
	{"mkdir", unix.SYS_MKDIR, args{bad}}, {"rmdir", unix.SYS_RMDIR, args{bad}}, {"mknod", unix.SYS_MKNOD, args{bad, unix.S_IFREG}},
	{"link", unix.SYS_LINK, args{bad, bad}}, {"symlink", unix.SYS_SYMLINK, args{bad, bad}}, {"rename", unix.SYS_RENAME, args{bad, bad}},
	{"unlink", unix.SYS_UNLINK, args{bad}}, {"modify_ldt", unix.SYS_MODIFY_LDT, args{99}},
	{
		"fork",
		unix.SYS_FORK,
		args{},
	}, {"vfork", unix.SYS_VFORK, args{}}, {"iopl", unix.SYS_IOPL, args{99}}, {"ioperm", unix.SYS_IOPERM, args{bad, bad, 1}},
	{"inotify_init", unix.SYS_INOTIFY_INIT, args{}},
	{"_sysctl", unix.SYS__SYSCTL, args{bad}}, {"uselib", unix.SYS_USELIB, args{bad}},
}
