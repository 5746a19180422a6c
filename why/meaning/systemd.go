package meaning

import "fettle/internal/lazy"

// SystemdExits are the exit statuses with which systemd says which step of starting a program
// failed (systemd.exec(5), "Process Exit Codes"; systemd-analyze exit-status lists them). The
// program itself never ran.
var SystemdExits = map[int]Entry{
	200: {"CHDIR", "the working directory could not be entered (WorkingDirectory=)"},
	201: {"NICE", "the scheduling priority could not be set (Nice=)"},
	202: {"FDS", "file descriptors could not be closed or passed on"},
	203: {"EXEC",
		"the program could not be executed: it is missing, not executable, for another architecture, or its interpreter is missing"},
	204: {"MEMORY", "there was not enough memory for it"},
	205: {"LIMITS", "a resource limit could not be set (LimitNOFILE= and the like)"},
	206: {"OOM_ADJUST", "the OOM score could not be set (OOMScoreAdjust=)"},
	207: {"SIGNAL_MASK", "the signal mask could not be set"},
	208: {"STDIN", "standard input could not be set up (StandardInput=)"},
	209: {"STDOUT", "standard output could not be set up (StandardOutput=, a log file's folder for example)"},
	210: {"CHROOT", "the root directory could not be changed (RootDirectory=)"},
	211: {"IOPRIO", "the I/O priority could not be set (IOSchedulingClass=)"},
	212: {"TIMERSLACK", "the timer slack could not be set (TimerSlackNSec=)"},
	213: {"SECUREBITS", "the secure bits could not be set (SecureBits=)"},
	214: {"SETSCHEDULER", "the CPU scheduling policy could not be set (CPUSchedulingPolicy=)"},
	215: {"CPUAFFINITY", "the CPU affinity could not be set (CPUAffinity=)"},
	216: {"GROUP", "the group could not be determined or changed to (Group=)"},
	217: {"USER", "the user could not be determined or changed to (User=): it does not exist, or was not known yet"},
	218: {"CAPABILITIES", "capabilities could not be set (CapabilityBoundingSet=, AmbientCapabilities=)"},
	219: {"CGROUP", "the control group could not be set up"},
	220: {"SETSID", "a new session could not be created"},
	221: {"CONFIRM", "the start was cancelled at the console (systemd.confirm_spawn)"},
	222: {"STDERR", "standard error could not be set up (StandardError=)"},
	224: {"PAM", "the PAM session could not be set up (PAMName=)"},
	225: {"NETWORK", "the network namespace could not be set up (PrivateNetwork=)"},
	226: {"NAMESPACE",
		"the mount, UTS or IPC namespace could not be set up: often a path of ReadWritePaths=, BindPaths= or the like that does not " +
			"exist"},
	227: {"NO_NEW_PRIVILEGES", "new privileges could not be ruled out (NoNewPrivileges=)"},
	228: {"SECCOMP", "the system call filter could not be applied (SystemCallFilter=)"},
	229: {"SELINUX_CONTEXT", "the SELinux context could not be determined or set (SELinuxContext=)"},
	230: {"PERSONALITY", "the execution domain could not be set (Personality=)"},
	231: {"APPARMOR", "the AppArmor profile could not be prepared (AppArmorProfile=)"},
	232: {"ADDRESS_FAMILIES", "the address families could not be restricted (RestrictAddressFamilies=)"},
	233: {"RUNTIME_DIRECTORY", "the runtime directory could not be set up (RuntimeDirectory=)"},
	235: {"CHOWN", "the owner of a socket could not be changed (SocketUser=, SocketGroup=)"},
	236: {"SMACK_PROCESS_LABEL", "the SMACK label could not be set (SmackProcessLabel=)"},
	237: {"KEYRING", "the kernel keyring could not be set up"},
	238: {"STATE_DIRECTORY", "the state directory could not be set up (StateDirectory=)"},
	239: {"CACHE_DIRECTORY", "the cache directory could not be set up (CacheDirectory=)"},
	240: {"LOGS_DIRECTORY", "the log directory could not be set up (LogsDirectory=)"},
	241: {"CONFIGURATION_DIRECTORY", "the configuration directory could not be set up (ConfigurationDirectory=)"},
	242: {"NUMA_POLICY", "the NUMA memory policy could not be set (NUMAPolicy=)"},
	243: {"CREDENTIALS", "credentials could not be set up (LoadCredential=, SetCredential=)"},
	244: {"BPF", "BPF restrictions could not be applied (RestrictFileSystems=)"},
}

// LSBExits are those of init scripts (Linux Standard Base, "Init Script Actions") and those of
// sysexits.h, which systemd prints with their names.
var LSBExits = map[int]Entry{
	1:  {"FAILURE", "the program ended with a failure that its exit status does not name: what it printed itself says more"},
	2:  {"INVALIDARGUMENT", "by convention of init scripts: invalid or too many arguments"},
	3:  {"NOTIMPLEMENTED", "by convention of init scripts: a feature that is not implemented"},
	4:  {"NOPERMISSION", "by convention of init scripts: the user lacks the right"},
	5:  {"NOTINSTALLED", "by convention of init scripts: the program is not installed"},
	6:  {"NOTCONFIGURED", "by convention of init scripts: the program is not configured"},
	7:  {"NOTRUNNING", "by convention of init scripts: the program does not run"},
	64: {"USAGE", "by sysexits.h: the command was used incorrectly"},
	65: {"DATAERR", "by sysexits.h: the input is incorrect"},
	66: {"NOINPUT", "by sysexits.h: an input file does not exist or cannot be read"},
	67: {"NOUSER", "by sysexits.h: the user does not exist"},
	68: {"NOHOST", "by sysexits.h: the host does not exist"},
	69: {"UNAVAILABLE", "by sysexits.h: a service or program is not available"},
	70: {"SOFTWARE", "by sysexits.h: an internal error of the program"},
	71: {"OSERR", "by sysexits.h: the system refused something, for example to fork"},
	72: {"OSFILE", "by sysexits.h: a system file is missing or has an error"},
	73: {"CANTCREAT", "by sysexits.h: an output file cannot be created"},
	74: {"IOERR", "by sysexits.h: an error while reading or writing a file"},
	75: {"TEMPFAIL", "by sysexits.h: a temporary failure, worth another try"},
	76: {"PROTOCOL", "by sysexits.h: the other side did not keep to the protocol"},
	77: {"NOPERM", "by sysexits.h: the user lacks the right"},
	78: {"CONFIG", "by sysexits.h: the configuration has an error"},
}

// shellExits are those of shells (POSIX, Shell Command Language, 2.8.2), which wrappers pass on.
var shellExits = map[int]Entry{
	126: {"126", "by convention of shells: the command was found and could not be executed"},
	127: {"127", "by convention of shells: the command was not found"},
}

const (
	exitSource  = "systemd.exec(5), Process Exit Codes"
	shellSource = "POSIX, Shell Command Language, 2.8.2"
)

var (
	namedExit = lazy.Regexp(`status=(\d{1,3})/[A-Z][A-Z_]*`)
	plainExit = lazy.Regexp(`code=exited, ?status=(\d{1,3})\b`)
	shellExit = lazy.Regexp(`(?:code=exited, ?status=|exited with (?:status|code) |[Ee]xit (?:status|code):? )(\d{1,3})\b`)
)

func systemdExits(text string) []Meaning {
	out := numbered(text, namedExit, SystemdExits, exitSource)
	if len(out) == 0 {
		out = append(out, numbered(text, plainExit, SystemdExits, exitSource)...)
	}
	if signalStatus().MatchString(text) {
		return out // "code=killed, status=9/KILL" is a signal
	}
	out = append(out, numbered(text, namedExit, LSBExits, exitSource)...)
	return append(out, numbered(text, shellExit, shellExits, shellSource)...)
}
