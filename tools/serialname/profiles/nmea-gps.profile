[Profile]
About=GPS receiver that speaks NMEA 0183
Speed=4800 9600 38400 115200
Listen=2500ms
Expect=\$(G[PNLAB]|BD|QZ)[A-Z]{3},[ -~]{0,76}\*[0-9A-Fa-f]{2}
Sum=nmea
