package login

// Traps that explain what is measured, or fix it.
const (
	TrapSharedConnection = "ssh-control-sockets" // every login connects again
	TrapSlowServer       = "ssh-slow-login"      // what the server waits for
	TrapLargePackets     = "bridge-mtu"          // what loses the key exchange's large packets
)
