package host

var ParseDpkg, ParseRPM = parseDpkg, parseRPM
