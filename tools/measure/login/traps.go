package login

// Traps that explain what is measured, or mend it.
const (
	TrapSharedConnection = "ssh-control-sockets" // every login connects anew
	TrapSlowServer       = "ssh-slow-login"      // what the server waits for
	TrapLargePackets     = "bridge-mtu"          // what loses the key exchange's large packets
)
