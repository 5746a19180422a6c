//go:build unix

package httpd

import "syscall"

// nonblock keeps a FIFO from holding the server up.
const nonblock = syscall.O_NONBLOCK
