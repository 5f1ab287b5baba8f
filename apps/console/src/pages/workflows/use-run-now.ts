import type { Workflow } from '@muster/contracts';
import { ask } from '../../api/ask.ts';
import type { useAct } from '../../api/use-act.ts';
import { counted } from '../../words/numbers.ts';

/** Runs a workflow at once, whatever its schedule says. */
export function useRunNow(act: ReturnType<typeof useAct>['act']) {
  return (workflow: Workflow) =>
    void act(
      () => ask('POST', '/api/workflows/:id/run', { params: { id: workflow.id } }),
      (run) => ({ text: `${workflow.name} runs for ${counted(run.targets, 'device')}.` }),
    );
}
