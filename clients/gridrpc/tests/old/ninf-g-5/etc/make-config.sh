#!/bin/sh
# Prints a client configuration file for this machine.
HOST=`$NG_DIR/bin/ng_gen_nrf --hostname`
cat <<EOF
<INCLUDE>
  filename "servers.conf"
</INCLUDE>

<CLIENT>
  hostname "$HOST"
  save_sessionInfo 100
  loglevel Warning
  loglevel_ninfgProtocol Error
  log_filePath "heat.log"
  log_overwriteDirectory true
  tmp_dir "/tmp"
  handling_signals SIGINT SIGTERM
  listen_port 0
  use_vfork true
</CLIENT>

<INFORMATION_SOURCE>
  tag local
  type NRF
  timeout 10
  source "../stubs/heat.$HOST.nrf"
  source "../stubs/check.$HOST.nrf"
</INFORMATION_SOURCE>

<INFORMATION_SOURCE>
  tag everything
  type NRF
  source "../stubs/all.nrf"
</INFORMATION_SOURCE>

<FUNCTION_INFO>
  hostname "$HOST"
  funcname "check/stubborn"
  path "`cd ../stubs; pwd`/_stub_stubborn"
  backend normal
  staging false
  session_timeout 1
  transferTimeout_argument 100
  transferTimeout_result 100
  transferTimeout_callbackArgument 100
  transferTimeout_callbackResult 100
</FUNCTION_INFO>

<SERVER>
  hostname "$HOST"
  tag "desk"
  invoke_server SSH
  invoke_server_option "ssh_command /usr/bin/ssh"
  invoke_server_option "ssh_option -o BatchMode=yes"
  port 22
  environment "HEAT_LEVEL=3"
  workDirectory "/tmp"
  information_source_tag local
  information_source_tag everything
  keep_connection true
  heartbeat 30 sec
  commLog_enable false
</SERVER>
EOF
cat > servers.conf <<EOF
# what holds for all servers, and the launchers
<INVOKE_SERVER>
  type SSH
  status_polling 10
  max_jobs 50
  log_filePath "ssh.log"
</INVOKE_SERVER>
<CLIENT_COMMUNICATION_PROXY>
  type GT
  buffer_size 1M
</CLIENT_COMMUNICATION_PROXY>
<SERVER_DEFAULT>
  job_startTimeout 1 hour
  job_stopTimeout -1
  job_maxTime 10
  argument_transfer wait
  argument_blockSize 16K
  compress raw
  compress_threshold 1 Mega
  force_xdr false
  tcp_nodelay true
  tcp_connect_retryCount 3
  tcp_connect_retryBaseInterval 1
  tcp_connect_retryIncreaseRatio 2.0
  tcp_connect_retryRandom true
  redirect_outerr true
  communication_proxy none
  coreDumpSize 0
  debug false
  debug_display ":0.0"
</SERVER_DEFAULT>
EOF
