package host

var ParseDpkg, ParseRPM, SecretBehind = parseDpkg, parseRPM, secretBehind
