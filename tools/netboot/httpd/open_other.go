//go:build !unix

package httpd

const nonblock = 0
