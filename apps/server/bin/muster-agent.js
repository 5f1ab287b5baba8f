#!/usr/bin/env node
import '../dist/cli/agent-main.js';
