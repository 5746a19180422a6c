[Profile]
About=Current Cost energy monitor (ENVI, CC128; Classic at 2400 or 9600 baud)
Speed=57600 9600 2400
# One message every six seconds.
Listen=8s
Expect=<msg>.{0,400}?<(src|date|time|dsb)>
