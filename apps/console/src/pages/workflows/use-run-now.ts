import type { Workflow, WorkflowRun } from '@muster/contracts';
import { ask } from '../../api/ask.ts';
import type { useAct } from '../../api/use-act.ts';
import { counted } from '../../words/numbers.ts';

type Act = ReturnType<typeof useAct>['act'];

/** Runs a workflow at once, whatever its schedule says. */
export function useRunNow(act: Act) {
  const cancel = useCancelRun(act);
  return (workflow: Workflow) =>
    void act(
      () => ask('POST', '/api/workflows/:id/run', { params: { id: workflow.id } }),
      (run) => ({
        text: `${workflow.name} runs for ${counted(run.targets, 'device')}.`,
        undo: { word: 'Undo', act: () => cancel(workflow.id, run) },
      }),
    );
}

/** What waits ends; what a device has already goes on. */
export function useCancelRun(act: Act) {
  return (id: string, run: WorkflowRun) =>
    void act(() => ask('POST', '/api/workflows/:id/runs/:runId/cancel', { params: { id, runId: run.id } }), {
      text: 'The run is cancelled. What a device has already goes on.',
    });
}
